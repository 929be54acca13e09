import PluginHub

/// Publishes infos about places. Sends the network plugin a command to fetch an info.
final class DomainModelPlugin: PluginProtocol {
    let policy: Policy
    private let hub: any MessageSending
    private let log: Log
    private let infos = EventSubject()

    convenience init(messageSender: any MessageSending, configurationFiles: [String: String]) throws {
        try self.init(messageSender: messageSender, configurationFiles: configurationFiles) { _ in }
    }

    init(messageSender: any MessageSending, configurationFiles: [String: String], log: @escaping Log) throws {
        policy = try Policy(contentsOfFile: configurationFiles["policy"] ?? "domain-model.policy.json")
        hub = messageSender
        self.log = log
    }

    func publisher(forEvent event: Message, payload: JSONObject?) throws -> EventPublisher {
        guard case InfoChanged.self = event else { throw unsupported(.event, event) }
        guard let payload else { return infos.publisher }
        let place = try InfoChanged.parameters(payload).place
        log("InfoPublisher.init()")
        // A failure has no place. The sender of the command recognizes the failure by the command's id.
        return infos.publisher.filter { output in
            guard let info = try? output.payload() else { return true }
            return info["place"] == .string(place)
        }
    }

    func onReceive(command: Message, payload: JSONObject?) throws {
        switch command {
        case RefreshInfo.self:
            let place = try RefreshInfo(payload: payload).place
            // Passes the id on, so that the result has the same one.
            try hub.send(FetchInfo(place: place), id: command.id, as: self)
        default: throw unsupported(.command, command)
        }
    }

    func subscribe(toPublisher publisher: EventPublisher, forEvent event: Message) {
        guard case InfoFetched.self = event else { return }
        let fetched = TypedPublisher<InfoFetched>(publisher)
        hub.context?.keep(
            fetched.sink { [infos] output in
                switch output.result {
                case .success(let info):
                    infos.send(InfoChanged(place: info.place, text: info.text), correlationId: output.correlationId)
                case .failure(let error): infos.send(.failure(error, correlationId: output.correlationId))
                }
            })
    }
}
