import BaseTestSupport
import Primitives
import Testing

@testable import InAppStore

@Suite struct StoreClosingTests {
    @Test func `tasks that wait when the queue is closed never begin`() async throws {
        for _ in 0..<200 {
            let queue = SerialQueue()
            let begun = Locked(0)
            let mayEnd = Gate()
            let callers = (0..<8).map { _ in
                Task {
                    try await queue.run {
                        begun.withLock { $0 += 1 }
                        try await mayEnd.pass()
                    }
                }
            }
            try await until("the first task has begun") { begun.withLock { $0 } == 1 }
            await queue.close()
            for caller in callers { await #expect(throws: CancellationError.self) { try await caller.value } }
            #expect(begun.withLock { $0 } == 1)
        }
    }
}
