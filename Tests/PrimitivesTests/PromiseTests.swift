import BaseTestSupport
import Foundation
import Primitives
import Testing

@Suite struct PromiseTests {
    private struct Refusal: Error {}
    /// A variable without a lock. Thread Sanitizer detects whether the promise orders the two threads.
    private final class Box: @unchecked Sendable {
        var value = 0
    }

    @Test func `a result arrives if it is resolved before, during or after the wait`() async throws {
        for round in 0..<300 {
            let promise = Promise<Box>()
            Thread.detachNewThread {
                let box = Box()
                box.value = round
                promise.resolve(.success(box))
            }
            if round % 3 == 0 { await letOthersRun() }
            #expect(try await promise.value().value == round)
        }
        let early = Promise<Int>()
        early.resolve(.success(7))
        #expect(try await early.value() == 7)
    }

    @Test func `an error is thrown to the task that waits`() async throws {
        let promise = Promise<Int>()
        let waiting = Task { try await promise.value() }
        promise.resolve(.failure(Refusal()))
        await #expect(throws: Refusal.self) { try await waiting.value }
    }

    @Test func `the first result counts, and so does a cancellation in valueUnlessCancelled`() async throws {
        let promise = Promise<Int>()
        #expect(!promise.isResolved)
        #expect(promise.resolve(.success(1)))
        #expect(!promise.resolve(.success(2)))
        #expect(promise.isResolved)
        #expect(try await promise.value() == 1)

        let forgotten = Promise<Int>()
        let waiting = Task { try await forgotten.valueUnlessCancelled() }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        #expect(!forgotten.resolve(.success(3)))
    }
}
