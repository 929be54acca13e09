import HTTPCore
import PluginHub
import Primitives

/// Sends requests to the server. The other plugins know only its messages.
final class NetworkPlugin: PluginProtocol {
    let policy: Policy
    private let hub: any MessageSending
    private let server: String
    private let transport: any HTTPTransport
    private let fetched = EventSubject()

    convenience init(messageSender: any MessageSending, configurationFiles: [String: String]) throws {
        throw PluginError(
            .initializationFailed, "Register the network plugin with a closure that passes the URL of the server.")
    }

    init(
        messageSender: any MessageSending, configurationFiles: [String: String], server: String,
        transport: any HTTPTransport
    ) throws {
        policy = try Policy(contentsOfFile: configurationFiles["policy"] ?? "network.policy.json")
        hub = messageSender
        self.server = server
        self.transport = transport
    }

    func publisher(forEvent event: Message, payload: JSONObject?) throws -> EventPublisher {
        guard case InfoFetched.self = event else { throw unsupported(.event, event) }
        return fetched.publisher
    }

    func onReceive(command: Message, payload: JSONObject?) throws {
        switch command {
        case FetchInfo.self:
            let place = try FetchInfo(payload: payload).place
            hub.context?.run { [self] in
                do {
                    fetched.send(try await fetch(place), correlationId: command.id)
                } catch {
                    fetched.send(.failure(error, correlationId: command.id))
                }
            }
        default: throw unsupported(.command, command)
        }
    }

    private func fetch(_ place: String) async throws -> InfoFetched {
        let segment = PercentEncoding.encode(place)
        let answer = try await transport.send(HTTPRequest(method: .get, url: "\(server)/info/\(segment)"))
        guard answer.isSuccess else {
            throw PluginError(.serverFailed, "The server answered \(answer.status): try again later.")
        }
        let json = try JSONValue(parsing: try await answer.body.collect(upTo: 65536))
        return try InfoFetched(payload: json.objectValue)
    }
}

extension PluginError.Code {
    static let serverFailed = PluginError.Code(rawValue: "serverFailed")
}
