import SimulatorControl
import BaseTestSupport
import Foundation
import HTTPCore
import Primitives
import StoreKitAdapter
import StoreModel

@testable import AppStoreSimulator

/// An app's server without a socket: the notifications that it receives, in order, and its responses.
final class Receiver: HTTPTransport {
    static let url = "http://127.0.0.1:1/notifications"

    struct Arrival: Sendable, Hashable {
        var uuid: String
        var type: String
        var transaction: String?
        var original: String?
        var signedPayload: String
    }

    private struct State {
        var arrivals: [Arrival] = []
        var answer: @Sendable (Arrival) async throws -> Int
        var open = 0
        var mostOpen = 0
    }

    private let state: Locked<State>
    private let changed = ChangeSignal<Int>()

    /// - Parameter answer: Returns the status. A thrown error is a network error.
    init(_ answer: @escaping @Sendable (Arrival) async throws -> Int = { _ in 200 }) {
        state = Locked(State(answer: answer))
    }

    var arrivals: [Arrival] { state.withLock { $0.arrivals } }
    /// The highest number of concurrent requests.
    var mostOpen: Int { state.withLock { $0.mostOpen } }

    func answer(_ answer: @escaping @Sendable (Arrival) async throws -> Int) {
        state.withLock { $0.answer = answer }
    }

    /// Waits until `count` notifications have arrived.
    func arrivals(atLeast count: Int) async {
        while true {
            let mark = changed.mark()
            if arrivals.count >= count { return }
            await changed.wait(for: 0, since: mark)
        }
    }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        let arrival = try Arrival(try await request.body.json())
        let answer = state.withLock { state in
            state.arrivals.append(arrival)
            state.open += 1
            state.mostOpen = max(state.mostOpen, state.open)
            return state.answer
        }
        changed.raise([0])
        defer { state.withLock { $0.open -= 1 } }
        return HTTPResponse(status: try await answer(arrival))
    }
}

extension Receiver.Arrival {
    /// Reads the payload without verification.
    fileprivate init(_ json: JSONValue) throws {
        signedPayload = json["signedPayload"]?.stringValue ?? ""
        let payload = try Self.payload(signedPayload)
        uuid = payload["notificationUUID"]?.stringValue ?? ""
        type = payload["notificationType"]?.stringValue ?? ""
        let info = try payload["data"]?["signedTransactionInfo"]?.stringValue.map(Self.payload)
        transaction = info?["transactionId"]?.stringValue
        original = info?["originalTransactionId"]?.stringValue
    }

    private static func payload(_ jws: String) throws -> JSONValue {
        let (bytes, dot) = (Array(jws.utf8), UInt8(ascii: "."))
        guard let first = bytes.index(ofByte: dot), let second = bytes.index(ofByte: dot, from: first + 1) else {
            return try JSONValue(parsing: [UInt8]())
        }
        return try JSONValue(parsing: Base64.decodeURL(bytes[(first + 1)..<second]) ?? [])
    }
}

extension TestStore {
    /// Opens a store that notifies `receiver`.
    static func notifying(
        _ receiver: any HTTPTransport, at url: String? = Receiver.url, rate: TimeRate = .frozen,
        in folder: ScratchFolder? = nil, base: ManualClock = ManualClock(),
        change: (inout SimulatedAppStore.Configuration) -> Void = { _ in }, _ body: (TestStore) async throws -> Void
    ) async throws {
        try await with(
            rate: rate, in: folder, base: base,
            change: {
                $0.notificationsURL = url
                $0.notificationTransport = receiver
                change(&$0)
            }, body)
    }

    func set(_ setting: StoreSetting, _ value: JSONValue) async throws { try await store.set(setting, to: value) }

    /// Returns the results of the attempts of each notification, oldest first.
    func results() throws -> [[String?]] { try store.notifications().map { $0.attempts.map(\.result) } }

    func only() throws -> StoreControlWire.Notification {
        let all = try store.notifications()
        guard all.count == 1 else { throw SimulatorError(.notNow, "There are \(all.count) notifications.") }
        return all[0]
    }
}

/// Suspends its callers until it is opened.
final class Gate: Sendable {
    private let signal = ChangeSignal<Int>()

    func wait() async { await signal.wait(for: 0, since: signal.mark()) }

    func open() { signal.close() }
}

extension SubscriptionPeriod {
    static let hour = SubscriptionPeriod(value: 1, unit: .hour)
}
