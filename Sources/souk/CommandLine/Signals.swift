import Foundation
import Primitives

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A request to stop: SIGTERM, SIGINT, SIGHUP, or the end of standard input if the parent process requested that.
///
/// A program can use SIGHUP otherwise. It is still a request to stop when it comes because the terminal was closed. A
/// SIGHUP that was ignored before, by `nohup`, stays ignored.
///
/// Signals are handled from the return of `init` on. The first one is kept until `wait()` is called. A second one ends
/// the process at once.
/// The handlers write to a pipe, because a dispatch source is registered asynchronously and would miss early signals.
final class StopSignal: Sendable {
    private let requests = Broadcast<Void>(replaysLast: true)
    private let first = Locked<Int32?>(nil)

    /// Throws `Failure` when the process cannot open a pipe. A process has one instance at most.
    ///
    /// - Parameter hangUp: A closure that is called for each SIGHUP that does not end the program; without it, SIGHUP
    ///   is a request to stop.
    init(alsoAtEndOfInput: Bool = false, hangUp: (@Sendable () -> Void)? = nil) throws {
        let reading = try SignalPipe.open()
        let hadTerminal = Self.hasTerminal
        Thread.detachNewThread { [requests, first] in
            var isRequested = false
            while let number = SignalPipe.next(from: reading) {
                if number == SIGHUP, let hangUp, Self.hasTerminal == hadTerminal {
                    hangUp()
                    continue
                }
                if isRequested { _exit(128 + number) }
                isRequested = true
                first.withLock { $0 = number }
                requests.send(())
            }
        }
        for number in [SIGTERM, SIGINT] { _ = signal(number) { SignalPipe.send($0) } }
        if !Self.ignore(SIGHUP) { _ = signal(SIGHUP) { SignalPipe.send($0) } }
        guard alsoAtEndOfInput else { return }
        Thread.detachNewThread { [requests] in
            while !FileHandle.standardInput.availableData.isEmpty {}
            requests.send(())
        }
    }

    /// Ignores a signal from now on. Returns whether it was ignored before.
    private static func ignore(_ number: Int32) -> Bool {
        unsafeBitCast(signal(number, SIG_IGN), to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
    }

    /// Whether the process has a controlling terminal. It loses the terminal when that is closed.
    private static var hasTerminal: Bool {
        let terminal = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard terminal >= 0 else { return false }
        close(terminal)
        return true
    }

    /// The status of a command that the request interrupted; `nil` if no signal was received.
    var interruption: ExitStatus? { first.withLock { $0 }.flatMap { ExitStatus(rawValue: 128 + $0) } }

    /// Requests the stop from within the process.
    func request() { requests.send(()) }

    /// Returns after the first request, or when the waiting task is cancelled.
    func wait() async {
        for await _ in requests.stream() { return }
    }
}

/// Passes the numbers of signals to a thread, because signal handlers may call only few functions.
private enum SignalPipe {
    // Unsafe: set before the first handler is installed, and only read afterwards.
    nonisolated(unsafe) private static var writingEnd: Int32 = -1

    /// Returns the reading end of the pipe. The writing end does not block, because a handler must not wait.
    static func open() throws -> Int32 {
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else {
            throw Failure(
                "signals cannot be handled: no pipe can be opened: \(String(cString: strerror(errno)))")
        }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        _ = fcntl(ends[1], F_SETFL, O_NONBLOCK)
        writingEnd = ends[1]
        return ends[0]
    }

    static func send(_ number: Int32) {
        let saved = errno
        var byte = UInt8(truncatingIfNeeded: number)
        _ = write(writingEnd, &byte, 1)
        errno = saved
    }

    /// Returns the next signal's number; `nil` when the pipe cannot be read.
    static func next(from end: Int32) -> Int32? {
        var byte: UInt8 = 0
        while true {
            let count = read(end, &byte, 1)
            if count == 1 { return Int32(byte) }
            guard count < 0, errno == EINTR else { return nil }
        }
    }
}
