/// Runs asynchronous operations one after another, so that the server's latest answer is stored last.
actor SerialQueue {
    private var last: Task<Void, Never>?
    /// The cancel functions of the operations that have not ended.
    private var operations: [UInt64: @Sendable () -> Void] = [:]
    private var lastID: UInt64 = 0
    private var isClosed = false

    /// Runs `body` after the earlier operations. Throws the error of `body`, and `CancellationError` if the queue is
    /// closed or the caller is cancelled. A cancelled caller does not wait for earlier operations.
    func run<Answer: Sendable>(_ body: @escaping @Sendable () async throws -> Answer) async throws -> Answer {
        guard !isClosed else { throw CancellationError() }
        let before = last
        lastID += 1
        let id = lastID
        let operation = Task {
            defer { operations[id] = nil }
            try await Self.end(of: before)
            guard !isClosed else { throw CancellationError() }
            return try await body()
        }
        operations[id] = { operation.cancel() }
        last = Task {
            await before?.value
            _ = await operation.result
        }
        return try await withTaskCancellationHandler {
            try await operation.value
        } onCancel: {
            operation.cancel()
        }
    }

    /// Cancels all operations, and accepts no more. Returns when the running operation has ended.
    func close() async {
        isClosed = true
        for cancel in operations.values { cancel() }
        await last?.value
    }

    /// Waits until an operation ends. A cancelled caller stops waiting at once, and the operation continues.
    private static func end(of operation: Task<Void, Never>?) async throws {
        if let operation {
            let (ending, continuation) = AsyncStream.makeStream(of: Never.self)
            Task {
                await operation.value
                continuation.finish()
            }
            for await _ in ending {}
        }
        try Task.checkCancellation()
    }
}
