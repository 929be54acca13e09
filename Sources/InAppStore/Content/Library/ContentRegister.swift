import Primitives
import StoreModel

/// Records which content is on the device. Runs one change of a product's content at a time.
actor ContentRegister {
    /// The digest of the parameters with which each content was fetched; empty if a process was killed before it wrote
    /// the digest.
    private nonisolated let fetched: Locked<[ProductID: String]>
    private nonisolated let broadcast = Broadcast<Set<ProductID>>(replaysLast: true)
    private var last: [ProductID: Task<Void, Never>] = [:]

    init(_ fetched: [ProductID: String]) {
        self.fetched = Locked(fetched)
        broadcast.send(Set(fetched.keys))
    }

    nonisolated var downloaded: Set<ProductID> { fetched.withLock { Set($0.keys) } }
    nonisolated var changes: AsyncStream<Set<ProductID>> { broadcast.stream() }
    nonisolated subscript(product: ProductID) -> String? { fetched.withLock { $0[product] } }

    func record(_ product: ProductID, _ parameters: String?) {
        let (before, now) = fetched.withLock { fetched in
            let before = Set(fetched.keys)
            fetched[product] = parameters
            return (before, Set(fetched.keys))
        }
        if before != now { broadcast.send(now) }
    }

    /// Runs `work` after all earlier work for this product.
    func runSerially<Value: Sendable>(
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

    func close() { broadcast.finish() }
}
