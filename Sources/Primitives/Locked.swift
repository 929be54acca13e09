#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A value protected by a lock. Most concurrent types of Souk that are not actors use it.
///
/// Use `withLock` for a short, synchronous access. The closure must not take a lock that other code can hold while it
/// takes this one. The lock is a `pthread_mutex_t`, which Thread Sanitizer supports on Linux.
///
///     let count = Locked(0)
///     count.withLock { $0 += 1 }
public final class Locked<Value>: @unchecked Sendable {
    // Sendable: `mutex` guards `value`, and results are sendable. A pointer avoids unnecessary exclusivity checks.
    @usableFromInline let value: UnsafeMutablePointer<Value>
    @usableFromInline let mutex: UnsafeMutablePointer<pthread_mutex_t>

    /// Creates a lock with `value`.
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

    /// Runs a closure with exclusive access to the value.
    ///
    /// - Parameter body: A closure that reads or changes the value.
    /// - Returns: The result of `body`.
    /// - Throws: The error of `body`.
    @inlinable @discardableResult
    public func withLock<Result, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&value.pointee)
    }
}
