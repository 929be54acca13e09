/// Lets one conversation with the server begin after the one before has ended, so that what the server said last is what
/// is kept.
actor ServerTurns {
    private var last: Task<Void, Never>?
    /// How to give up each turn that has not ended.
    private var turns: [UInt64: @Sendable () -> Void] = [:]
    private var lastNumber: UInt64 = 0
    private var isClosed = false

    /// Runs `body` when it is its turn. Throws what it throws, and `CancellationError` when the caller is cancelled, who
    /// then waits for nobody's turn, or when the turns are over.
    func take<Answer: Sendable>(_ body: @escaping @Sendable () async throws -> Answer) async throws -> Answer {
        guard !isClosed else { throw CancellationError() }
        let before = last
        lastNumber += 1
        let number = lastNumber
        let turn = Task {
            defer { turns[number] = nil }
            try await Self.end(of: before)
            // The conversation before may have ended because all of them are given up.
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

    /// Gives up all turns and takes no more; returns when the one under way has ended.
    func close() async {
        isClosed = true
        for giveUp in turns.values { giveUp() }
        await last?.value
    }

    /// Waits for a conversation; whoever gives up leaves at once, and the conversation goes on.
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
