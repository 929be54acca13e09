import Primitives

/// The tasks of one plugin: cancelled and awaited together when it leaves.
final class TaskScope: Sendable {
    private let state = Locked(State())

    private struct State: Sendable {
        var isClosed = false
        var next = 0
        /// `nil` between the moment a task is counted and the moment its handle is known.
        var tasks: [Int: Task<Void, Never>?] = [:]
        var waiting: [Waiter] = []
    }

    private struct Waiter: Sendable {
        let continuation: CheckedContinuation<Void, Never>
        /// How many tasks it does not wait for: one if it is itself called from a task of this scope.
        let allowance: Int
    }

    /// The scopes the current task, or one that started it, belongs to.
    @TaskLocal private static var enclosing: Set<ObjectIdentifier> = []

    /// Starts `work`; `false` if the scope is closed.
    func run(_ work: @escaping @Sendable () async -> Void) -> Bool {
        let number: Int? = state.withLock { state in
            guard !state.isClosed else { return nil }
            state.next += 1
            state.tasks[state.next] = .some(nil)
            return state.next
        }
        guard let number else { return false }
        let scopes = Self.enclosing.union([ObjectIdentifier(self)])
        let task = Task {
            await Self.$enclosing.withValue(scopes) { await work() }
            end(number)
        }
        let isClosed = state.withLock { state in
            if state.tasks[number] != nil { state.tasks[number] = task }
            return state.isClosed
        }
        if isClosed { task.cancel() }
        return true
    }

    /// Refuses further work and cancels what runs.
    func close() {
        let tasks = state.withLock { state in
            state.isClosed = true
            return state.tasks.values.compactMap { $0 }
        }
        for task in tasks { task.cancel() }
    }

    /// Returns when all tasks have ended. Called from one of them, it waits for the others only.
    func drain() async {
        let allowance = Self.enclosing.contains(ObjectIdentifier(self)) ? 1 : 0
        await withCheckedContinuation { continuation in
            let isDone = state.withLock { state in
                if state.tasks.count <= allowance { return true }
                state.waiting.append(Waiter(continuation: continuation, allowance: allowance))
                return false
            }
            if isDone { continuation.resume() }
        }
    }

    private func end(_ number: Int) {
        let done: [Waiter] = state.withLock { state in
            state.tasks[number] = nil
            let count = state.tasks.count
            let done = state.waiting.filter { count <= $0.allowance }
            state.waiting.removeAll { count <= $0.allowance }
            return done
        }
        for waiter in done { waiter.continuation.resume() }
    }
}
