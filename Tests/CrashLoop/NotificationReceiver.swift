import SimulatorControl
import Foundation
import HTTPCore
import HTTPListener
import Primitives
import StoreKitAdapter
import StoreModel

/// The app's server: it outlives the store, refuses every second notification once, and records all of them.
final class NotificationReceiver: Sendable {
    private struct State {
        /// The received payloads of each notification, by its UUID.
        var payloads: [String: [String]] = [:]
    }

    private let state = Locked(State())
    private let listener: HTTPListener
    let url: String

    init() throws {
        listener = HTTPListener(
            handler: AnyHTTPHandler { [state] request in .ready(HTTPResponse(status: Self.answer(request, state))) })
        url = try listener.start().url + "/apple"
    }

    func stop() async { await listener.stop() }

    private static func answer(_ request: HTTPRequest, _ state: Locked<State>) -> Int {
        let body = try? request.body.buffered.map { try JSONValue(parsing: $0) }
        guard let payload = body?["signedPayload"]?.stringValue, let uuid = uuid(of: payload) else { return 400 }
        return state.withLock { state in
            state.payloads[uuid, default: []].append(payload)
            let isRefused = state.payloads[uuid]?.count == 1 && state.payloads.count % 2 == 0
            return isRefused ? 500 : 200
        }
    }

    private static func uuid(of jws: String) -> String? {
        let parts = jws.split(separator: ".")
        guard parts.count == 3, let bytes = Base64.decodeURL(String(parts[1])) else { return nil }
        return (try? JSONValue(parsing: bytes))?["notificationUUID"]?.stringValue
    }

    /// Throws unless each notification in `recorded` has arrived as often as was recorded, and no other has. An attempt
    /// that the kill interrupted may be missing.
    func check(_ recorded: [StoreControlWire.Notification], charges: Set<TransactionID>, wasKilled: Bool) throws {
        let arrived = state.withLock { $0.payloads }
        guard Set(arrived.keys).isSubset(of: recorded.map(\.uuid)) else {
            throw CrashFailure("a notification arrived that is not in the store's database")
        }
        for notification in recorded {
            let name = "the notification \(notification.number), \(notification.type),"
            let results = notification.attempts.map { $0.result ?? "none" }
            guard results.last == "SUCCESS", notification.due == nil else {
                throw CrashFailure("\(name) has not arrived: \(results)")
            }
            let known = results.count { $0 != "OTHER" }
            guard known == results.count || wasKilled && known == results.count - 1 else {
                throw CrashFailure("\(name) was lost more than once: \(results)")
            }
            let payloads = arrived[notification.uuid] ?? []
            guard (known...results.count).contains(payloads.count), Set(payloads).count == 1 else {
                throw CrashFailure("\(name) has arrived \(payloads.count) times, recorded: \(results)")
            }
            try Self.checkSchedule(notification, name)
        }
        let charged = recorded.filter { $0.type == "ONE_TIME_CHARGE" }.compactMap(\.transactionID)
        guard charged.count == charges.count, Set(charged) == charges else {
            throw CrashFailure("\(charges.count) charges were made, \(charged.count) were reported")
        }
    }

    private static func checkSchedule(_ notification: StoreControlWire.Notification, _ name: String) throws {
        let instants = notification.attempts.map(\.at)
        for ((earlier, later), hours) in zip(zip(instants, instants.dropFirst()), [1.0, 12, 24, 48, 72])
        where later.timeIntervalSince(earlier) < hours * 3600 {
            throw CrashFailure("\(name) was sent again before it was due: \(instants)")
        }
    }
}
