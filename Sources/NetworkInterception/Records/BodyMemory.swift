import Primitives

/// The bytes of bodies that all exchanges under way may hold for their records, together.
///
///     let memory = BodyMemory(limit: 64 << 20)
///     let share = BodyMemory.Share(of: memory)
///     let granted = share.take(chunk.count)    // 0...chunk.count
///
/// What is not granted is not recorded: nobody waits for memory, and nobody is refused.
final class BodyMemory: Sendable {
    private let free: Locked<Int>

    init(limit: Int) { free = Locked(max(0, limit)) }

    /// Takes up to `count` bytes. Returns how many it took.
    fileprivate func take(_ count: Int) -> Int {
        free.withLock { free in
            let granted = min(free, max(0, count))
            free -= granted
            return granted
        }
    }

    fileprivate func giveBack(_ count: Int) { free.withLock { $0 += count } }

    /// What one exchange holds. It is given back when the share is released.
    final class Share: Sendable {
        private let memory: BodyMemory
        private let held = Locked(0)

        init(of memory: BodyMemory) { self.memory = memory }

        deinit { memory.giveBack(held.withLock { $0 }) }

        /// Takes up to `count` bytes. Returns how many it took.
        func take(_ count: Int) -> Int {
            guard count > 0 else { return 0 }
            let granted = memory.take(count)
            held.withLock { $0 += granted }
            return granted
        }
    }
}
