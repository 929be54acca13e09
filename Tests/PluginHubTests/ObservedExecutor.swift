import Dispatch
import Primitives

/// Runs the tasks that prefer it one after another, and reports when none of them can continue.
///
///     await withTaskExecutorPreference(executor) { await hub.stop() }
///     …
///     await executor.waitUntilIdle()     // `stop` has returned, or it waits
@available(macOS 15, iOS 18, *)
final class ObservedExecutor: TaskExecutor {
    private struct State {
        var pending = 0
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let queue = DispatchQueue(label: "ObservedExecutor")
    private let state = Locked(State())

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        state.withLock { $0.pending += 1 }
        queue.async {
            job.runSynchronously(on: self.asUnownedTaskExecutor())
            self.hasRun()
        }
    }

    /// Returns when there is no job to run. Do not call it from a task that prefers this executor.
    func waitUntilIdle() async {
        await withCheckedContinuation { continuation in
            let isIdle = state.withLock { state in
                if state.pending == 0 { return true }
                state.waiting.append(continuation)
                return false
            }
            if isIdle { continuation.resume() }
        }
    }

    private func hasRun() {
        let idle = state.withLock { state in
            state.pending -= 1
            guard state.pending == 0 else { return [CheckedContinuation<Void, Never>]() }
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in idle { continuation.resume() }
    }
}
