import Primitives

/// The recorded calls of a test double, in order, which a test can read and wait for.
package final class CallLog<Call: Sendable>: Sendable {
    private struct State {
        var calls: [Call] = []
        var waiting: [(isMet: @Sendable ([Call]) -> Bool, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Locked(State())

    package init() {}

    package var all: [Call] { state.withLock { $0.calls } }

    package func record(_ call: Call) {
        let waiting = state.withLock { state in
            state.calls.append(call)
            return state.waiting
        }
        guard !waiting.isEmpty else { return }
        resumeWaiters()
    }

    /// Returns when the calls so far meet `condition`.
    package func wait(until condition: @escaping @Sendable ([Call]) -> Bool) async {
        await withCheckedContinuation { continuation in
            state.withLock { $0.waiting.append((condition, continuation)) }
            resumeWaiters()
        }
    }

    /// Evaluates the conditions outside the lock, and resumes the waiting tasks whose condition is met.
    private func resumeWaiters() {
        let (calls, waiting) = state.withLock { state in
            defer { state.waiting = [] }
            return (state.calls, state.waiting)
        }
        for entry in waiting where entry.isMet(calls) { entry.continuation.resume() }
        let left = waiting.filter { !$0.isMet(calls) }
        let isBehind = state.withLock { state in
            state.waiting += left
            return state.calls.count != calls.count && !left.isEmpty
        }
        if isBehind { resumeWaiters() }
    }
}

/// A gate at which tasks wait until a test opens it.
package final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var next = 0
        var waiting: [Int: CheckedContinuation<Void, any Error>] = [:]
        var cancelled: Set<Int> = []
    }

    private let state = Locked(State())

    package init() {}

    package func open() {
        let waiting = state.withLock { state in
            state.isOpen = true
            defer { state.waiting = [:] }
            return Array(state.waiting.values)
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Returns when the gate is open; throws `CancellationError` when the caller is cancelled before.
    package func pass() async throws {
        let number = state.withLock { state in
            state.next += 1
            return state.next
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let result: Result<Void, any Error>? = state.withLock { state in
                    if state.cancelled.remove(number) != nil { return .failure(CancellationError()) }
                    if state.isOpen { return .success(()) }
                    state.waiting[number] = continuation
                    return nil
                }
                if let result { continuation.resume(with: result) }
            }
        } onCancel: {
            let continuation = state.withLock { state in
                let continuation = state.waiting.removeValue(forKey: number)
                if continuation == nil, !state.isOpen { state.cancelled.insert(number) }
                return continuation
            }
            continuation?.resume(throwing: CancellationError())
        }
    }
}
