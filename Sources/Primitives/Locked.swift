#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A value behind a lock: the leaf of every concurrent type in Souk.
///
/// Call `withLock` for a short, synchronous look or change; nothing may be called from inside that could take another
/// lock or run somebody else's code. Built on `pthread_mutex_t`, which Thread Sanitizer understands on Linux.
///
///     let count = Locked(0)
///     count.withLock { $0 += 1 }
public final class Locked<Value>: @unchecked Sendable {
    // Sendable: `value` is only ever touched while `mutex` is held, and `withLock` requires what crosses to be sent.
    // Behind a pointer, because the lock already excludes overlapping accesses and need not be checked for them again.
    @usableFromInline let value: UnsafeMutablePointer<Value>
    @usableFromInline let mutex: UnsafeMutablePointer<pthread_mutex_t>

    @inlinable public init(_ value: sending Value) {
        self.value = .allocate(capacity: 1)
        self.value.initialize(to: value)
        mutex = .allocate(capacity: 1)
        pthread_mutex_init(mutex, nil)
    }

    @inlinable deinit {
        value.deinitialize(count: 1)
        value.deallocate()
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    /// Runs `body` with exclusive access and returns what it returns; errors pass through.
    @inlinable @discardableResult
    public func withLock<Result, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&value.pointee)
    }
}
