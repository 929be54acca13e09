import Foundation

extension Thread {
    /// Starts a thread with the name `name` that runs `body` once.
    ///
    /// The thread sets its own name, after `start` has returned in the calling thread. On Linux, Foundation ignores a
    /// name that is set before the start, and the calling thread can overwrite a name that is set during `start`.
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
