import BaseTestSupport
import Foundation
import Primitives
import Testing

@Suite struct HandoverTests {
    private struct Refusal: Error {}
    /// Not safe by itself: Thread Sanitizer watches whether the handover orders the two threads.
    private final class Box: @unchecked Sendable {
        var value = 0
    }

    @Test func `what is delivered before, while or after its task asks arrives`() async throws {
        for round in 0..<300 {
            let handover = Handover<Box>()
            Thread.detachNewThread {
                let box = Box()
                box.value = round
                handover.deliver(.success(box))
            }
            if round % 3 == 0 { await letOthersRun() }
            #expect(try await handover.value().value == round)
        }
        let early = Handover<Int>()
        early.deliver(.success(7))
        #expect(try await early.value() == 7)
    }

    @Test func `an error is thrown to whoever waits`() async throws {
        let handover = Handover<Int>()
        let waiting = Task { try await handover.value() }
        handover.deliver(.failure(Refusal()))
        await #expect(throws: Refusal.self) { try await waiting.value }
    }
}
