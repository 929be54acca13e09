import Foundation
import HTTPCore
import PluginHub
import Primitives

/// Offers the newest records on the hub, so that another plugin can show them without access to the interceptor.
///
///     hub.register { sender, _ in InspectorHubPlugin(messageSender: sender, interceptor: interceptor) }
///
/// | kind | name | payload | answer |
/// |---|---|---|---|
/// | view query | `inspector.records` | `{count?}`, 1 to 200, by default 50 | the newest records, one per row |
public final class InspectorHubPlugin: PluginProtocol {
    /// The policy in `inspector.policy.json`.
    public static let policy = Policy(
        name: "inspector", receive: .init(viewControllerQueries: ["inspector.records"]))

    private static let limit = 200
    private let interceptor: Interceptor
    /// The newest records, newest first. They are cached because a view query returns at once and a storage does not.
    private let newest = Locked<[Record]>([])

    /// Always throws: the plugin needs an interceptor. Register it with a closure that passes one.
    ///
    /// - Parameters:
    ///   - messageSender: Not used.
    ///   - configurationFiles: Not used.
    /// - Throws: `PluginError` with the code `initializationFailed`.
    public convenience init(messageSender: any MessageSending, configurationFiles: [String: String]) throws {
        throw PluginError(
            .initializationFailed,
            "The inspector's plugin needs an interceptor: register it with a closure that calls init(messageSender:interceptor:)."
        )
    }

    /// Creates a plugin.
    ///
    /// - Parameters:
    ///   - messageSender: The plugin's connection to the hub.
    ///   - interceptor: The interceptor whose records are shown.
    public init(messageSender: any MessageSending, interceptor: Interceptor) {
        self.interceptor = interceptor
        let clearings = interceptor.clearings
        messageSender.context?.run { [weak self, storage = interceptor.storage] in
            // Reloads after a removal, because it is unknown whether records that are being delivered are still stored.
            var isCleared = true
            while isCleared {
                isCleared = await withTaskGroup(of: Bool.self) { group in
                    group.addTask {
                        let updates = storage.updates
                        self?.begin(with: await storage.records(Self.limit, after: nil))
                        for await record in updates { self?.take(record) }
                        return false
                    }
                    group.addTask { await clearings.first { true } != nil }
                    defer { group.cancelAll() }
                    return await group.next() ?? false
                }
            }
        }
    }

    public var policy: Policy { Self.policy }

    private func begin(with records: [Record]) { newest.withLock { $0 = records } }

    private func take(_ record: Record) {
        newest.withLock { newest in
            if let place = newest.firstIndex(where: { $0.id == record.id }) {
                newest[place] = record
            } else {
                newest.insert(record, at: 0)
                if newest.count > Self.limit { newest.removeLast() }
            }
        }
    }

    public func onReceive(viewQuery: Message, payload: JSONObject?) throws -> ViewDocument {
        guard viewQuery.name == "inspector.records" else { throw unsupported(.viewQuery, viewQuery) }
        let payload = payload ?? [:]
        let count = payload["count"] == nil ? 50 : try payload.require("count", as: Int.self)
        guard (1...Self.limit).contains(count) else {
            throw PluginError(
                .invalidField, "count is a whole number from 1 to \(Self.limit).", message: viewQuery.name)
        }
        let rows = newest.withLock { $0.prefix(count) }.map { record in
            ViewDocument.Row.text(
                "\(record.originalRequest.method) \(record.originalRequest.url)", Self.outcome(record))
        }
        return ViewDocument(
            title: "Requests",
            sections: [.init(rows: rows.isEmpty ? [.text("No requests were recorded yet")] : rows)])
    }

    /// The result and the duration.
    private static func outcome(_ record: Record) -> String {
        let word: String
        switch record.result {
        case nil: return "under way"
        case .success(let response): word = "\(response.status)"
        case .failure(let error): word = "\(error)"
        }
        guard let started = record.timing.started, let end = record.timing.ended ?? record.timing.answered else {
            return word
        }
        return "\(word), \(Int((end.timeIntervalSince(started) * 1000).rounded())) ms"
    }
}
