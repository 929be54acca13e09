import Dispatch
import Foundation
import Primitives

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The wish to stop: SIGTERM, SIGINT, SIGHUP, or the end of standard input for a process whose starter asked for that.
///
/// From when it is made, the first signal no longer ends the process, and is not forgotten before somebody waits. A second
/// one ends it at once: whoever sends it does not want to wait until everything has come to its end.
final class StopSignal: Sendable {
    private let wishes = Broadcast<Void>(replaysLast: true)
    private let sources = Locked<[any DispatchSourceSignal]>([])
    private let hasCome = Locked(false)

    init(alsoAtEndOfInput: Bool = false) {
        let (wishes, hasCome) = (wishes, hasCome)
        let queue = DispatchQueue(label: "StopSignal")
        sources.withLock { sources in
            sources = [SIGTERM, SIGINT, SIGHUP].map { number in
                signal(number, SIG_IGN)
                let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
                source.setEventHandler {
                    if hasCome.withLock({ $0 }) { _exit(128 + number) }
                    hasCome.withLock { $0 = true }
                    wishes.send(())
                }
                source.resume()
                return source
            }
        }
        guard alsoAtEndOfInput else { return }
        Thread.detachNewThread {
            while !FileHandle.standardInput.availableData.isEmpty {}
            wishes.send(())
        }
    }

    /// Returns when the wish has come, or when the waiting task is cancelled.
    func wait() async {
        for await _ in wishes.stream() { return }
    }
}
