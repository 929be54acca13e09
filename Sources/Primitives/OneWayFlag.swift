#if !canImport(Darwin)
    import Synchronization
#endif

/// A flag that is set once and that any thread can read. On Linux, reading takes no lock.
///
/// Use it for a check in each step of a hot path, such as whether a subscription is cancelled: a lock would take most
/// of the time. A thread that reads `isSet` as true also sees every change made before `set()`. On Apple platforms the
/// flag uses a lock, because they have atomic values only since macOS 15 and iOS 18.
package struct OneWayFlag: ~Copyable, Sendable {
    #if canImport(Darwin)
        @usableFromInline let flag = Locked(false)

        @inlinable package init() {}
        @inlinable package var isSet: Bool { flag.withLock { $0 } }
        @inlinable package func set() { flag.withLock { $0 = true } }
    #else
        @usableFromInline let flag = Atomic(false)

        @inlinable package init() {}
        @inline(__always) @inlinable package var isSet: Bool { flag.load(ordering: .acquiring) }
        @inlinable package func set() { flag.store(true, ordering: .sequentiallyConsistent) }
    #endif
}
