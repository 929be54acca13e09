import Foundation

/// How many hub calls are nested on the current thread, one in another.
///
/// Kept per thread because calls are synchronous: a task that a handler starts begins at zero, as it nests nothing.
enum CallDepth {
    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        let status = pthread_key_create(&key, nil)
        precondition(status == 0, "The process has no thread-specific key left (pthread_key_create: \(status)).")
        return key
    }()

    static var current: Int {
        get { Int(bitPattern: pthread_getspecific(key)) }
        set { pthread_setspecific(key, UnsafeRawPointer(bitPattern: newValue)) }
    }
}
