import Foundation
import HTTPCore
import HTTPListener
import Primitives

/// A relay between the store and the server: accepts every notification at once, and forwards them in any order, some
/// more than once.
final class NotificationRelay: Sendable {
    private struct State {
        var waiting: [String] = []
        var all: [String] = []
        var isOver = false
    }

    private let state = Locked(State())
    private let changes = Broadcast<Void>(replaysLast: true)
    private let listener: HTTPListener
    let url: String

    init() throws {
        listener = HTTPListener(
            handler: AnyHTTPHandler { [state, changes] request in
                let body = try? request.body.buffered.map { try JSONValue(parsing: $0) }
                guard let payload = body?["signedPayload"]?.stringValue else {
                    return .ready(HTTPResponse(status: 400))
                }
                state.withLock { state in
                    state.waiting.append(payload)
                    state.all.append(payload)
                }
                changes.send(())
                return .ready(HTTPResponse(status: 200))
            })
        url = try listener.start().url + "/notices"
        changes.send(())
    }

    func stop() async { await listener.stop() }

    /// All notifications from the store.
    var all: [String] { state.withLock { $0.all } }

    /// Ends `forward`.
    func end() {
        state.withLock { $0.isOver = true }
        changes.send(())
    }

    /// Forwards the waiting notifications, three at a time, until `end` was called and none is left.
    func forward(to server: ChaosServer, _ client: ChaosClient) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<3 {
                group.addTask {
                    for await _ in self.changes.stream(keeping: 1) {
                        while let payload = self.take() { try await Self.post(payload, to: server, client) }
                        if self.isDone { return }
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    private var isDone: Bool { state.withLock { $0.isOver && $0.waiting.isEmpty } }

    static func post(_ payload: String, to server: ChaosServer, _ client: ChaosClient) async throws {
        _ = try await client.sendUntilSuccess(
            .post, "/v1/notifications/app-store", of: server, body: ["signedPayload": .string(payload)])
    }

    /// Returns a random waiting notification; one in four is kept for a repetition.
    private func take() -> String? {
        state.withLock { state in
            guard let place = state.waiting.indices.randomElement() else { return nil }
            return Int.random(in: 0..<4) == 0 ? state.waiting[place] : state.waiting.remove(at: place)
        }
    }
}
