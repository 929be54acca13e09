import Foundation
import Primitives

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A program that a test starts and waits for.
///
///     let server = try ChildProgram("/usr/bin/env", ["souk", "serve"], output: .captured)
///     let greeting = await server.output.firstLine()
///     server.terminate()
///     #expect(await server.end() == 0)
///
/// It uses `posix_spawn`, because Foundation's `Process` fails with more than about 1,300 open files. `Process` also
/// passes the signal mask of the calling thread to the child, so some children never receive SIGTERM. This child has an
/// empty mask, default signal handlers, and only its standard streams and `socket`. Blocking calls run on their own threads, never
/// on Swift's task threads.
package final class ChildProgram: Sendable {
    /// The target or source of a standard stream of the child.
    package enum Stream: Sendable {
        /// `/dev/null`.
        case null
        /// The same as in this process.
        case inherited
        /// A file that is read from its start, or overwritten.
        case file(String)
        /// Captured output, see `output` and `errors`. For standard input: open until `closeInput()`.
        case captured
        /// Standard input with this text.
        case text(String)
        /// Standard input with these bytes.
        case bytes([UInt8])
        /// Standard output and standard error: a pipe without a reader.
        case closedPipe

        /// The content of standard input.
        fileprivate var content: [UInt8]? {
            switch self {
            case .text(let text): Array(text.utf8)
            case .bytes(let bytes): bytes
            case .null, .inherited, .file, .captured, .closedPipe: nil
            }
        }
    }

    package let processID: Int32
    /// The captured standard output and standard error of the child.
    package let output = CapturedText()
    package let errors = CapturedText()
    private let input: Locked<Int32?>
    private let exit = Broadcast<Int32>(replaysLast: true)
    private let status = Locked<Int32?>(nil)

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - path: The program's file.
    ///   - environment: Variables in addition to those of this process.
    ///   - folder: The child's working directory.
    ///   - input: The standard input, which is empty by default.
    ///   - socket: A descriptor that the child gets as its descriptor 3.
    /// - Throws: `POSIXError` when it cannot be started.
    package init(
        _ path: String, _ arguments: [String] = [], environment: [String: String] = [:], in folder: String? = nil,
        input: Stream = .null, output: Stream = .null, errors: Stream = .inherited, socket: Int32? = nil
    ) throws {
        var streams: [StandardStream] = []
        defer { for stream in streams { stream.closeChildEnd() } }
        do {
            for (number, stream) in [input, output, errors].enumerated() {
                streams.append(try StandardStream(stream, number: Int32(number)))
            }
            processID = try spawn(
                path, arguments, ProcessInfo.processInfo.environment.merging(environment) { $1 }, folder,
                streams.map(\.child) + (socket.map { [$0] } ?? []))
        } catch {
            for case let descriptor? in streams.map(\.parent) { close(descriptor) }
            throw error
        }
        if let bytes = input.content, let descriptor = streams[0].parent {
            self.input = Locked(nil)
            feed(bytes, to: descriptor) {}
        } else {
            self.input = Locked(streams[0].parent)
        }
        if let descriptor = streams[1].parent { self.output.read(from: descriptor) } else { self.output.end() }
        if let descriptor = streams[2].parent { self.errors.read(from: descriptor) } else { self.errors.end() }
        Thread.detachNewThread { [processID, status, exit] in
            var end = siginfo_t()
            while waitid(P_PID, id_t(processID), &end, WEXITED | WNOWAIT) < 0, errno == EINTR {}
            // Under the lock, so that no signal goes to a later process with the same number.
            let code = status.withLock { status in
                var word: Int32 = 0
                let isKnown = waitpid(processID, &word, 0) == processID
                let code = !isKnown ? -1 : word & 0x7F == 0 ? (word >> 8) & 0xFF : 128 + (word & 0x7F)
                status = code
                return code
            }
            exit.send(code)
        }
    }

    package var isRunning: Bool { status.withLock { $0 == nil } }

    /// Sends a signal, unless the child has ended.
    package func signal(_ number: Int32) {
        status.withLock { status in
            if status == nil { _ = kill(processID, number) }
        }
    }

    /// Asks the child to end (SIGTERM).
    package func terminate() { signal(SIGTERM) }

    /// Writes to the child's standard input, if it is `captured` and open. Returns when all is written, or when the
    /// child reads no more.
    package func write(_ text: String) async {
        guard let descriptor = input.withLock({ $0.flatMap(copy(of:)) }) else { return }
        await withCheckedContinuation { continuation in feed(Array(text.utf8), to: descriptor) { continuation.resume() }
        }
    }

    /// Closes the child's standard input, if it is `captured`.
    package func closeInput() {
        let descriptor = input.withLock { descriptor in
            defer { descriptor = nil }
            return descriptor
        }
        if let descriptor { close(descriptor) }
    }

    /// Waits for the child's end. Returns the exit status; 128 plus the signal's number after a signal; -1 when the
    /// waiting task is cancelled, or the system does not know the status.
    package func end() async -> Int32 {
        for await code in exit.stream() { return code }
        return -1
    }

    /// Kills a running child (SIGKILL).
    deinit {
        closeInput()
        signal(SIGKILL)
    }

    /// The result of a program that has ended.
    package struct Outcome: Sendable {
        /// The exit status; 128 plus the signal's number after a signal.
        package let status: Int32
        package let output: String
        package let errors: String

        /// Standard output as one JSON value.
        package var json: JSONValue? { try? JSONValue(parsing: output) }
    }

    /// Runs a program to its end and captures its output.
    ///
    /// - Throws: `POSIXError` when it cannot be started.
    package static func run(
        _ path: String, _ arguments: [String] = [], environment: [String: String] = [:], in folder: String? = nil,
        input: Stream = .null
    ) async throws -> Outcome {
        let child = try ChildProgram(
            path, arguments, environment: environment, in: folder, input: input, output: .captured, errors: .captured)
        let (output, errors) = (await child.output.text(), await child.errors.text())
        return Outcome(status: await child.end(), output: output, errors: errors)
    }
}

/// The captured text of a standard stream of a child.
package final class CapturedText: Sendable {
    private struct State {
        var bytes: [UInt8] = []
        var isAtEnd = false
    }

    private let state = Locked(State())
    private let changes = Broadcast<Void>(replaysLast: true)

    init() {}

    /// The text so far.
    package var soFar: String { String(decoding: state.withLock { $0.bytes }, as: UTF8.self) }

    /// Waits for the end of the stream and returns all of it.
    package func text() async -> String {
        await wait { $0.isAtEnd }
        return soFar
    }

    /// Waits for a whole line. Returns `nil` when the stream ends before.
    package func firstLine() async -> String? {
        await wait { $0.isAtEnd || $0.bytes.contains(0x0A) }
        let bytes = state.withLock { $0.bytes }
        return bytes.firstIndex(of: 0x0A).map { String(decoding: bytes[..<$0], as: UTF8.self) }
    }

    /// Waits until the stream contains `text`. Returns `false` when the stream ends before.
    package func contains(_ text: String) async -> Bool {
        let mark = Array(text.utf8)
        await wait { $0.isAtEnd || $0.bytes.firstRange(of: mark) != nil }
        return state.withLock { $0.bytes.firstRange(of: mark) != nil }
    }

    private func wait(until isMet: (State) -> Bool) async {
        if isMet(state.withLock { $0 }) { return }
        for await _ in changes.stream() where isMet(state.withLock { $0 }) { return }
    }

    fileprivate func read(from descriptor: Int32) {
        Thread.detachNewThread { [self] in
            var block = [UInt8](repeating: 0, count: 1 << 16)
            while true {
                let count = Foundation.read(descriptor, &block, block.count)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { break }
                state.withLock { $0.bytes += block[..<count] }
                changes.send(())
            }
            close(descriptor)
            end()
        }
    }

    fileprivate func end() {
        state.withLock { $0.isAtEnd = true }
        changes.send(())
    }
}

/// The two ends of a standard stream.
private struct StandardStream {
    let child: Int32
    var parent: Int32?

    init(_ stream: ChildProgram.Stream, number: Int32) throws {
        let isInput = number == 0
        switch stream {
        case .inherited: child = number
        case .null: child = try Self.open("/dev/null", isInput)
        case .file(let path): child = try Self.open(path, isInput)
        case .captured, .text, .bytes:
            let ends = try Self.pipe()
            (child, parent) = isInput ? (ends.read, ends.write) : (ends.write, ends.read)
        case .closedPipe:
            let ends = try Self.pipe()
            close(ends.read)
            child = ends.write
        }
    }

    func closeChildEnd() { if child > 2 { close(child) } }

    private static func pipe() throws -> (read: Int32, write: Int32) {
        var ends: [Int32] = [-1, -1]
        guard Foundation.pipe(&ends) == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (aboveStandard(ends[0]), aboveStandard(ends[1]))
    }

    private static func open(_ path: String, _ isInput: Bool) throws -> Int32 {
        let flags = isInput ? O_RDONLY : path == "/dev/null" ? O_WRONLY : O_WRONLY | O_CREAT | O_TRUNC
        let descriptor = Foundation.open(path, flags | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        return aboveStandard(descriptor)
    }

    /// Moves a descriptor above those of the standard streams. In a process with closed standard streams, other files
    /// have these numbers, which the child needs.
    private static func aboveStandard(_ descriptor: Int32) -> Int32 {
        guard descriptor <= 2, let copy = copy(of: descriptor) else { return descriptor }
        close(descriptor)
        return copy
    }
}

/// Duplicates a descriptor to a number above those of the standard streams.
private func copy(of descriptor: Int32) -> Int32? {
    let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
    return copy < 0 ? nil : copy
}

/// Writes on another thread, which waits until the child reads, and closes the descriptor. The thread blocks SIGPIPE,
/// for a child that ends first.
private func feed(_ bytes: [UInt8], to descriptor: Int32, then: @escaping @Sendable () -> Void) {
    Thread.detachNewThread {
        var brokenPipe = sigset_t()
        sigemptyset(&brokenPipe)
        sigaddset(&brokenPipe, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &brokenPipe, nil)
        var bytes = bytes[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            bytes = bytes.dropFirst(count)
        }
        close(descriptor)
        then()
    }
}

private func spawn(
    _ path: String, _ arguments: [String], _ environment: [String: String], _ folder: String?, _ streams: [Int32]
) throws -> Int32 {
    #if canImport(Darwin)
        var actions: posix_spawn_file_actions_t?
        var attributes: posix_spawnattr_t?
        let closing = Int16(POSIX_SPAWN_CLOEXEC_DEFAULT)
    #else
        var actions = posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        let closing: Int16 = 0
    #endif
    posix_spawn_file_actions_init(&actions)
    posix_spawnattr_init(&attributes)
    defer {
        posix_spawn_file_actions_destroy(&actions)
        posix_spawnattr_destroy(&attributes)
    }
    for (number, descriptor) in streams.enumerated() {
        posix_spawn_file_actions_adddup2(&actions, descriptor, Int32(number))
    }
    #if canImport(Darwin)
        if let folder { posix_spawn_file_actions_addchdir_np(&actions, folder) }
    #else
        typealias CloseFrom = @convention(c) (UnsafeMutableRawPointer, Int32) -> Int32
        typealias ChangeFolder = @convention(c) (UnsafeMutableRawPointer, UnsafePointer<CChar>) -> Int32
        guard let closeFrom = dlsym(nil, "posix_spawn_file_actions_addclosefrom_np"),
            let changeFolder = dlsym(nil, "posix_spawn_file_actions_addchdir_np")
        else { throw POSIXError(.ENOSYS) }
        _ = unsafeBitCast(closeFrom, to: CloseFrom.self)(&actions, Int32(streams.count))
        if let folder { _ = unsafeBitCast(changeFolder, to: ChangeFolder.self)(&actions, folder) }
    #endif
    var (none, all) = (sigset_t(), sigset_t())
    sigemptyset(&none)
    sigfillset(&all)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setsigdefault(&attributes, &all)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK) | Int16(POSIX_SPAWN_SETSIGDEF) | closing)
    var words: [UnsafeMutablePointer<CChar>?] = ([path] + arguments).map { strdup($0) }
    var settings: [UnsafeMutablePointer<CChar>?] = environment.map { strdup("\($0.key)=\($0.value)") }
    defer { for text in words + settings { free(text) } }
    words.append(nil)
    settings.append(nil)
    var processID: pid_t = 0
    let error = posix_spawn(&processID, path, &actions, &attributes, words, settings)
    guard error == 0 else { throw POSIXError(POSIXErrorCode(rawValue: error) ?? .EIO) }
    return processID
}
