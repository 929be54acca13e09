import Primitives

/// The memory for the bodies of all active exchanges, in bytes.
///
///     let memory = BodyMemory(limit: 64 << 20)
///     let share = BodyMemory.Share(of: memory)
///     let granted = share.take(chunk.count)    // 0...chunk.count
///
/// Bytes that are not granted are not recorded. No exchange waits or fails because memory is missing.
final class BodyMemory: Sendable {
    private let free: Locked<Int>

    init(limit: Int) { free = Locked(max(0, limit)) }

    /// Takes up to `count` bytes and returns the number taken.
    fileprivate func take(_ count: Int) -> Int {
        free.withLock { free in
            let granted = min(free, max(0, count))
            free -= granted
            return granted
        }
    }

    fileprivate func giveBack(_ count: Int) { free.withLock { $0 += count } }

    /// The memory that one exchange holds. It is released with the share.
    final class Share: Sendable {
        private let memory: BodyMemory
        private let held = Locked(0)

        init(of memory: BodyMemory) { self.memory = memory }

        deinit { memory.giveBack(held.withLock { $0 }) }

        /// Takes up to `count` bytes and returns the number taken.
        func take(_ count: Int) -> Int {
            guard count > 0 else { return 0 }
            let granted = memory.take(count)
            held.withLock { $0 += granted }
            return granted
        }
    }
}
