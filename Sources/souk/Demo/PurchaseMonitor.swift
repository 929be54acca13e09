import Foundation
import HTTPCore
import Primitives

/// A transport that counts how often each transaction is finished at the store, and records a fault if one is finished
/// before the server has acknowledged it.
final class PurchaseMonitor: HTTPTransport {
    private struct State {
        var acknowledged: Set<String> = []
        var finished: [String: Int] = [:]
        var faults: [String] = []
        var beforePresenting: (@Sendable () async -> Void)?
    }

    private let network: any HTTPTransport
    private let state = Locked(State())

    init(_ network: any HTTPTransport) { self.network = network }

    /// Sets an action that runs just before the next transaction is presented to the server.
    func beforeNextPresentation(_ action: @escaping @Sendable () async -> Void) {
        state.withLock { $0.beforePresenting = action }
    }

    /// Returns how many times a transaction was finished at the store.
    func timesFinished(_ transaction: String) -> Int { state.withLock { $0.finished[transaction] ?? 0 } }
    func isAcknowledged(_ transaction: String) -> Bool { state.withLock { $0.acknowledged.contains(transaction) } }
    var faults: [String] { state.withLock { $0.faults } }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        let path = request.path
        let isPresentation =
            request.method == .post && path.hasPrefix("/v1/customers/") && path.hasSuffix("/transactions")
        if isPresentation {
            let action = state.withLock { state in
                defer { state.beforePresenting = nil }
                return state.beforePresenting
            }
            await action?()
        }
        if request.method == .post, path.hasPrefix("/store/v1/"), path.hasSuffix("/finish") { note(finishAt: path) }
        var response = try await network.send(request)
        if isPresentation, response.isSuccess {
            let bytes = try await response.body.collect(upTo: 4 << 20)
            response.body = .bytes(bytes)
            note(answer: try? JSONValue(parsing: bytes))
        }
        return response
    }

    private func note(answer: JSONValue?) {
        let ids = answer?["acknowledgedTransactionIDs"]?.arrayValue?.compactMap(\.stringValue) ?? []
        state.withLock { $0.acknowledged.formUnion(ids) }
    }

    private func note(finishAt path: String) {
        let segments = path.split(separator: "/")
        guard segments.count >= 2 else { return }
        let id = String(segments[segments.count - 2])
        state.withLock { state in
            if !state.acknowledged.contains(id) {
                state.faults.append("transaction \(id) was finished before the server acknowledged it")
            }
            state.finished[id, default: 0] += 1
        }
    }
}
