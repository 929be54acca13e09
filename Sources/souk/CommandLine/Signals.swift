import Dispatch
import Foundation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Waits for the wish to stop: SIGTERM, SIGINT, or the end of standard input for a process whose starter asked for that.
enum StopSignal {
    /// Returns once. Call it early: a signal that came before is not forgotten, since the sources are made at once.
    static func wait(alsoAtEndOfInput: Bool = false) async {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
        let sources = [SIGTERM, SIGINT].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler { continuation.yield() }
            source.resume()
            return source
        }
        if alsoAtEndOfInput {
            Thread.detachNewThread {
                while !FileHandle.standardInput.availableData.isEmpty {}
                continuation.yield()
            }
        }
        for await _ in stream { break }
        for source in sources { source.cancel() }
    }
}
