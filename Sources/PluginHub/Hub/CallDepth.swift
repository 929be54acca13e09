import Foundation

/// The number of nested hub calls on the current thread.
///
/// It is kept per thread because calls are synchronous. A task that a handler starts is not nested and begins at zero.
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
