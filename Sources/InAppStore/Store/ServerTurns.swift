/// Runs asynchronous operations one after another, so that the server's latest answer is stored last.
actor ServerTurns {
    private var last: Task<Void, Never>?
    /// The cancel functions of the operations that have not ended.
    private var turns: [UInt64: @Sendable () -> Void] = [:]
    private var lastNumber: UInt64 = 0
    private var isClosed = false

    /// Runs `body` after the earlier operations. Throws the error of `body`, and `CancellationError` if the caller is
    /// cancelled, which then does not wait for earlier operations, or if the queue is closed.
    func take<Answer: Sendable>(_ body: @escaping @Sendable () async throws -> Answer) async throws -> Answer {
        guard !isClosed else { throw CancellationError() }
        let before = last
        lastNumber += 1
        let number = lastNumber
        let turn = Task {
            defer { turns[number] = nil }
            try await Self.end(of: before)
            // The queue may have been closed while the earlier operation ended.
            guard !isClosed else { throw CancellationError() }
            return try await body()
        }
        turns[number] = { turn.cancel() }
        last = Task {
            await before?.value
            _ = await turn.result
        }
        return try await withTaskCancellationHandler {
            try await turn.value
        } onCancel: {
            turn.cancel()
        }
    }

    /// Cancels all operations, and accepts no more. Returns when the running one has ended.
    func close() async {
        isClosed = true
        for giveUp in turns.values { giveUp() }
        await last?.value
    }

    /// Waits until an operation ends. A cancelled caller stops waiting at once, and the operation continues.
    private static func end(of conversation: Task<Void, Never>?) async throws {
        if let conversation {
            let (ending, continuation) = AsyncStream.makeStream(of: Never.self)
            Task {
                await conversation.value
                continuation.finish()
            }
            for await _ in ending {}
        }
        try Task.checkCancellation()
    }
}
