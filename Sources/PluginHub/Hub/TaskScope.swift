import Primitives

/// The tasks of one plugin. They start when the plugin runs. When it leaves, they are cancelled and awaited together.
final class TaskScope: Sendable {
    private let state = Locked(State())

    private enum Phase: Sendable {
        /// The scope is not open yet. It holds the work to start.
        case waiting([@Sendable () async -> Void])
        case open
        case closed
    }

    private struct State: Sendable {
        var phase = Phase.waiting([])
        var next = 0
        /// The running tasks. A task is counted before it is created, and its value is `nil` until then.
        var tasks: [Int: Task<Void, Never>?] = [:]
        var waiting: [Waiter] = []
    }

    private struct Waiter: Sendable {
        let continuation: CheckedContinuation<Void, Never>
        /// The number of tasks that may still run when the wait ends: one if a task of this scope waits, otherwise
        /// none.
        let allowance: Int
    }

    /// The scopes of the current task and of the tasks that started it.
    @TaskLocal private static var enclosing: [TaskScope] = []

    private let wasRemoved = OneWayFlag()

    /// Records that the plugin was removed from its hub. Called under the hub's lock, so that the order is defined when
    /// two plugins remove each other.
    func markRemoved() { wasRemoved.set() }

    /// Whether the current task belongs to a plugin that was removed. Then another task may wait for this one.
    static var callerWasRemoved: Bool { enclosing.contains { $0.wasRemoved.isSet } }

    /// Starts `work`, or keeps it until the scope opens. Returns `false` if the scope is closed.
    func run(_ work: @escaping @Sendable () async -> Void) -> Bool {
        enum Answer: Sendable { case start(Int), wait, refuse }
        let answer: Answer = state.withLock { state in
            switch state.phase {
            case .waiting(let works):
                state.phase = .waiting(works + [work])
                return .wait
            case .open:
                state.next += 1
                state.tasks[state.next] = .some(nil)
                return .start(state.next)
            case .closed: return .refuse
            }
        }
        if case .start(let number) = answer { start(work, number) }
        if case .refuse = answer { return false }
        return true
    }

    private func start(_ work: @escaping @Sendable () async -> Void, _ number: Int) {
        let scopes = Self.enclosing.filter { $0 !== self } + [self]
        let task = Task {
            await Self.$enclosing.withValue(scopes) { await work() }
            end(number)
        }
        let isClosed = state.withLock { state in
            if state.tasks[number] != nil { state.tasks[number] = task }
            if case .closed = state.phase { return true }
            return false
        }
        if isClosed { task.cancel() }
    }

    /// Starts the work that was kept until the plugin runs.
    func open() {
        let works: [@Sendable () async -> Void] = state.withLock { state in
            guard case .waiting(let works) = state.phase else { return [] }
            state.phase = .open
            return works
        }
        for work in works { _ = run(work) }
    }

    /// Refuses further work and cancels the running tasks.
    func close() {
        let (tasks, old): ([Task<Void, Never>], Phase) = state.withLock { state in
            let old = state.phase
            state.phase = .closed
            return (state.tasks.values.compactMap { $0 }, old)
        }
        for task in tasks { task.cancel() }
        withExtendedLifetime(old) {}
    }

    /// Returns when all tasks have ended. If one of them calls this function, it waits only for the other tasks.
    func drain() async {
        let allowance = Self.enclosing.contains { $0 === self } ? 1 : 0
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
