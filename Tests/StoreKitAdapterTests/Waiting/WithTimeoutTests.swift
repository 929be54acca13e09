import BaseTestSupport
import Primitives
import StoreModel
import StoreTestSupport
import Testing

@testable import StoreKitAdapter

@Suite(.timeLimit(.minutes(1)))
struct WithTimeoutTests {
    private let late = CallLog<Int>()
    private let tooLate = StoreFailure(code: .unreachable, reason: "Too late.")

    @Test func `an answer in time is returned, and a late one is passed to onLateResult`() async throws {
        #expect(await withTimeout(sleep: { _ in try await Gate().pass() }) { 1 } == 1)
        let gate = Gate()
        let limits = CallLog<Duration>()
        let answer: Int? = await withTimeout(
            sleep: { limits.record($0) }, onLateResult: { [late] in late.record($0) },
            {
                try? await gate.pass()
                return 2
            })
        #expect(answer == nil && limits.all == [.seconds(2)] && late.all.isEmpty)
        gate.open()
        await late.wait { $0 == [2] }
    }

    @Test func `without an answer the result is nil, and there is no late result`() async {
        let answer: Int? = await withTimeout(
            sleep: { _ in try await Gate().pass() }, onLateResult: { [late] in late.record($0) }, { nil })
        #expect(answer == nil && late.all.isEmpty)
    }

    @Test func `a required request returns its answer or throws its error`() async throws {
        let answer = try await withTimeout(
            of: .seconds(30), orThrow: tooLate, sleep: { _ in try await Gate().pass() }, { 1 })
        #expect(answer == 1)
        await #expect(throws: StoreFailure(code: .notEntitled, reason: "No.")) {
            try await withTimeout(
                of: .seconds(30), orThrow: tooLate, sleep: { _ in try await Gate().pass() },
                { throw StoreFailure(code: .notEntitled, reason: "No.") })
        }
    }

    @Test func `a required request that takes too long is cancelled and fails`() async throws {
        let cancelled = CallLog<Bool>()
        await #expect(throws: tooLate) {
            try await withTimeout(
                of: .seconds(30), orThrow: tooLate, sleep: { _ in },
                {
                    try? await Gate().pass()
                    cancelled.record(Task.isCancelled)
                })
        }
        await cancelled.wait { $0 == [true] }
    }

    @Test func `a caller who is cancelled does not wait for the answer`() async throws {
        let asked = CallLog<Bool>()
        let caller = Task { [tooLate] in
            try await withTimeout(
                of: .seconds(30), orThrow: tooLate, sleep: { _ in try await Gate().pass() },
                {
                    asked.record(true)
                    try await Gate().pass()
                })
        }
        await asked.wait { !$0.isEmpty }
        caller.cancel()
        await #expect(throws: CancellationError.self) { try await caller.value }
    }
}
