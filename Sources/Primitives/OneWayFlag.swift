#if !canImport(Darwin)
    import Synchronization
#endif

/// Something that happens once, from no to yes, and that any thread may look at without taking a lock.
///
/// For what is asked on every step of a hot path, as whether a subscription has been cancelled, where a lock taken and
/// given back would be most of the cost. Whoever sees `isSet` sees all that was done before `set()`. Apple's systems have
/// atomic values only from macOS 15 and iOS 18 on, so there it is a lock.
package struct OneWayFlag: ~Copyable, Sendable {
    #if canImport(Darwin)
        @usableFromInline let flag = Locked(false)

        @inlinable package init() {}
        @inlinable package var isSet: Bool { flag.withLock { $0 } }
        @inlinable package func set() { flag.withLock { $0 = true } }
    #else
        @usableFromInline let flag = Atomic(false)

        @inlinable package init() {}
        @inlinable package var isSet: Bool { flag.load(ordering: .acquiring) }
        @inlinable package func set() { flag.store(true, ordering: .sequentiallyConsistent) }
    #endif
}
