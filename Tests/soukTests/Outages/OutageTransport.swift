import Foundation
import HTTPCore
import NetworkTestSupport
import Primitives

/// An outage between a plugin and its server.
enum Outage: String, CaseIterable, Sendable {
    case never = "never reached"
    case down = "down at start"
    case slow = "slow"
    case failing = "500"
    case unauthorised = "401"
    case garbage = "garbage"
    case truncated = "truncated"
    case forged = "wrong signature"
    case skewed = "clock skew"

    /// Whether no response of the server arrives whole.
    var isTotal: Bool { ![.unauthorised, .forged, .skewed].contains(self) }
}

/// The network between an app and one of its servers, with an outage from the start or from a later call.
final class OutageTransport: HTTPTransport {
    private let inner: any HTTPTransport
    private let outage: Locked<Outage?>
    private let changes = Broadcast<Outage?>(replaysLast: true)
    private let hole: ListeningPort

    /// - Parameter hole: A port that never answers.
    init(_ inner: any HTTPTransport, _ outage: Outage?, hole: ListeningPort) {
        (self.inner, self.outage, self.hole) = (inner, Locked(outage), hole)
        changes.send(outage)
    }

    /// Begins an outage. `nil` ends it.
    func begin(_ outage: Outage?) {
        self.outage.withLock { $0 = outage }
        changes.send(outage)
    }

    /// Returns when there is no outage, or throws when the task is cancelled.
    func repaired() async throws {
        for await outage in changes.stream() where outage == nil { return }
        throw CancellationError()
    }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        let outage = outage.withLock { $0 }
        var request = request
        switch outage {
        case .never, .down: request.url = elsewhere(request.url, port: 1)
        case .slow:
            request.url = elsewhere(request.url, port: hole.number)
            request.timeout = .milliseconds(300)
        case .failing: return HTTPResponse(status: 500)
        case .unauthorised:
            for name in ["Authorization", "x-api-key"] where request.headers[name] != nil {
                request.headers[name] = name == "Authorization" ? "Bearer pk_nobody" : "pk_nobody"
            }
        case .garbage, .truncated, .forged, .skewed, nil: break
        }
        var response = try await inner.send(request)
        switch outage {
        case .garbage: response.body = .text("{\"half\": ")
        case .truncated: throw HTTPError(.connectionLost, "The connection ended in the middle of the answer.")
        case .forged: response.body = .bytes(Self.forge(try await response.body.collect(upTo: 1 << 20)))
        default: break
        }
        return response
    }

    /// Changes a response in a way that only a check of signatures detects: the signature of App Store data, or a space
    /// in JSON that is signed in a header.
    private static func forge(_ bytes: [UInt8]) -> [UInt8] {
        let text = String(decoding: bytes, as: UTF8.self)
        let signed = /(eyJ[\w-]+\.[\w-]+\.[\w-]+)[\w-]{8}/
        let forged = text.replacing(signed) { "\($0.1)AAAAAAAA" }
        return Array((forged.hasPrefix("{") ? "{ " + forged.dropFirst() : forged).utf8)
    }

    private func elsewhere(_ url: String, port: Int) -> String {
        let path = url.split(separator: "/", maxSplits: 2)[1].drop { $0 != "/" }
        return "http://127.0.0.1:\(port)\(path)"
    }
}
