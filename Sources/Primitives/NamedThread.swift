import Foundation

extension Thread {
    /// Starts a thread that runs `body` once and bears `name` from its first step on.
    ///
    /// The thread names itself, and only once `start` has returned. Foundation on Linux ignores a name that is given before,
    /// and the beginning thread can overwrite one that another thread gives it after.
    package static func start(named name: String, _ body: @escaping @Sendable () -> Void) {
        let isStarted = DispatchSemaphore(value: 0)
        Thread {
            isStarted.wait()
            Thread.current.name = name
            body()
        }.start()
        isStarted.signal()
    }
}
