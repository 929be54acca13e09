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

    /// The memory that one exchange holds. It is released with the share.
    ///
    /// Sendable: the lock of the memory also guards `held`. Each exchange has a share, and a lock is expensive to
    /// create.
    final class Share: @unchecked Sendable {
        private let memory: BodyMemory
        private var held = 0

        init(of memory: BodyMemory) { self.memory = memory }

        deinit {
            let held = held
            if held > 0 { memory.free.withLock { $0 += held } }
        }

        /// Takes up to `count` bytes and returns the number taken.
        func take(_ count: Int) -> Int {
            guard count > 0 else { return 0 }
            return memory.free.withLock { free in
                let granted = min(free, count)
                free -= granted
                held += granted
                return granted
            }
        }
    }
}
