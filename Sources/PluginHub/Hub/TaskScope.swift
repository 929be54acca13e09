import Primitives

/// The tasks of one plugin: begun when it runs, cancelled and awaited together when it leaves.
final class TaskScope: Sendable {
    private let state = Locked(State())

    private enum Phase: Sendable {
        /// Not open yet: what is to run waits here.
        case waiting([@Sendable () async -> Void])
        case open
        case closed
    }

    private struct State: Sendable {
        var phase = Phase.waiting([])
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
    @TaskLocal private static var enclosing: [TaskScope] = []

    private let hasLeft = OneWayFlag()

    /// The plugin is taken out of its hub: set under the hub's lock, so that of two who take out each other one is first.
    func leave() { hasLeft.set() }

    /// Whether the current task belongs to a plugin that was taken out: then somebody may be waiting for this very task.
    static var callerIsLeaving: Bool { enclosing.contains { $0.hasLeft.isSet } }

    /// Starts `work`, once the scope is open; `false` if it is closed.
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

    /// The plugin runs: what waited begins.
    func open() {
        let works: [@Sendable () async -> Void] = state.withLock { state in
            guard case .waiting(let works) = state.phase else { return [] }
            state.phase = .open
            return works
        }
        for work in works { _ = run(work) }
    }

    /// Refuses further work and cancels what runs.
    func close() {
        let (tasks, old): ([Task<Void, Never>], Phase) = state.withLock { state in
            let old = state.phase
            state.phase = .closed
            return (state.tasks.values.compactMap { $0 }, old)
        }
        for task in tasks { task.cancel() }
        withExtendedLifetime(old) {}
    }

    /// Returns when all tasks have ended. Called from one of them, it waits for the others only.
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
