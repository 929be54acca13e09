import Primitives
import StoreModel

/// The content on the device. It runs one change of a product's content at a time.
actor ContentRegister {
    /// The digest of the parameters with which each content was fetched; empty if a process was killed before it wrote
    /// the digest.
    private nonisolated let there: Locked<[ProductID: String]>
    private nonisolated let told = Broadcast<Set<ProductID>>(replaysLast: true)
    private var last: [ProductID: Task<Void, Never>] = [:]

    init(_ there: [ProductID: String]) {
        self.there = Locked(there)
        told.send(Set(there.keys))
    }

    nonisolated var downloaded: Set<ProductID> { there.withLock { Set($0.keys) } }
    nonisolated var changes: AsyncStream<Set<ProductID>> { told.stream() }
    nonisolated subscript(product: ProductID) -> String? { there.withLock { $0[product] } }

    func note(_ product: ProductID, _ parameters: String?) {
        let (before, now) = there.withLock { there in
            let before = Set(there.keys)
            there[product] = parameters
            return (before, Set(there.keys))
        }
        if before != now { told.send(now) }
    }

    /// Runs `work` after all earlier work for this product.
    func inTurn<Value: Sendable>(
        _ product: ProductID, _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let before = last[product]
        let task = Task {
            await before?.value
            return try await work()
        }
        let end = Task { _ = await task.result }
        last[product] = end
        defer { if last[product] == end { last[product] = nil } }
        return try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            task.cancel()
        }
    }

    func close() { told.finish() }
}
