#if canImport(Darwin)
    import Primitives
#else
    import Synchronization
#endif

/// Whether a subscription has been cancelled: from no to yes, once.
///
/// It is looked at before each callback, where a lock taken and given back would be most of the cost of an event. Apple's
/// systems have atomic values only from macOS 15 and iOS 18 on, so there it is a lock.
struct CancelFlag: ~Copyable, Sendable {
    #if canImport(Darwin)
        private let flag = Locked(false)

        var isSet: Bool { flag.withLock { $0 } }
        func set() { flag.withLock { $0 = true } }
    #else
        private let flag = Atomic(false)

        var isSet: Bool { flag.load(ordering: .acquiring) }
        func set() { flag.store(true, ordering: .sequentiallyConsistent) }
    #endif
}
