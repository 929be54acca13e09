import Foundation

extension Thread {
    /// Starts a thread with the name `name` that runs `body` once.
    ///
    /// The thread sets its own name, and only after `start` has returned. On Linux, Foundation ignores a name that is
    /// set before the start. The starting thread can overwrite a name that another thread sets later.
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
