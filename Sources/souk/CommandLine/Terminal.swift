import Foundation
import Primitives

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Output of the command: results to standard output, everything else to standard error.
/// The functions for results throw if they cannot write. Then the command ends with status 2, so that no reader
/// mistakes a partial result for a whole one.
enum Terminal {
    /// Writes one line to standard output at once.
    static func print(_ text: TerminalText) throws(OutputFailure) { try send(text.escapedText + "\n") }

    /// Writes `text` without a line end to standard output.
    static func write(_ text: TerminalText) throws(OutputFailure) { try send(text.escapedText) }

    /// Writes a document to standard output. Control characters are escaped only if standard output is a terminal.
    static func write(document: String) throws(OutputFailure) {
        try send(isatty(1) == 1 ? TerminalText.lines(document).escapedText : document)
    }

    /// Writes `bytes` as they are to standard output.
    static func write(_ bytes: [UInt8]) throws(OutputFailure) {
        if let errorNumber = send(bytes, to: 1) { throw OutputFailure("standard output", errorNumber) }
    }

    /// Writes one JSON value and a line end to standard output.
    static func print(json value: JSONValue, pretty: Bool = false) throws(OutputFailure) {
        try print(.json(value.text(pretty: pretty)))
    }

    /// Writes the first line of a service, which contains the address that it listens on.
    static func announce(_ value: JSONValue) -> Announcement {
        do throws(OutputFailure) {
            try print(json: value)
            return Announcement(failure: nil)
        } catch {
            return Announcement(failure: error)
        }
    }

    /// Writes one line to standard error. If this fails, except for a closed pipe, a command that otherwise succeeds
    /// ends with status 2.
    static func note(_ text: TerminalText) { write(error: text + "\n") }

    /// Writes one line of a service's log to standard error. If that fails, the service continues.
    static func log(_ text: TerminalText) { send(log: text.withoutUserInfo) }

    /// Writes one JSON value and a line end to standard error, as a service's log does.
    static func log(json value: JSONValue) { send(log: .json(value.withoutUserInfo.text())) }

    private static func send(log line: TerminalText) { _ = send(Array((line.escapedText + "\n").utf8), to: 2) }

    /// Writes `text` without a line end to standard error, and leaves out the secrets in its URLs.
    static func write(error text: TerminalText) {
        let bytes = Array(text.withoutSecretsOfURLs.escapedText.utf8)
        if let errorNumber = send(bytes, to: 2), errorNumber != EPIPE { lostNotes.withLock { $0 = true } }
    }

    /// Whether a line for standard error could not be written.
    static var hasLostNotes: Bool { lostNotes.withLock { $0 } }

    private static let lostNotes = Locked(false)

    private static func send(_ text: String) throws(OutputFailure) { try write(Array(text.utf8)) }

    /// Whether standard error is a terminal that can show progress.
    static let showsProgress = isatty(2) == 1 && ProcessInfo.processInfo.environment["TERM"] != "dumb"

    /// Whether to use colour: only on a terminal, and never with `NO_COLOR`.
    static let usesColour: Bool =
        isatty(1) == 1 && (ProcessInfo.processInfo.environment["NO_COLOR"] ?? "").isEmpty
        && ProcessInfo.processInfo.environment["TERM"] != "dumb"

    static func green(_ text: TerminalText) -> TerminalText { usesColour ? "\u{1B}[32m\(text)\u{1B}[0m" : text }
    static func red(_ text: TerminalText) -> TerminalText { usesColour ? "\u{1B}[31m\(text)\u{1B}[0m" : text }
    static func dim(_ text: TerminalText) -> TerminalText { usesColour ? "\u{1B}[2m\(text)\u{1B}[0m" : text }
    static func bold(_ text: TerminalText) -> TerminalText { usesColour ? "\u{1B}[1m\(text)\u{1B}[0m" : text }

    /// Opens `/dev/null` for closed standard streams, so that no file or socket gets their descriptors.
    /// `open` returns the lowest free descriptor, which is the stream's. Input is opened for writing and output for
    /// reading, so using the stream still fails.
    static func occupyClosedStreams() {
        for descriptor in Int32(0)...2 where fcntl(descriptor, F_GETFD) == -1 && errno == EBADF {
            _ = open("/dev/null", descriptor == 0 ? O_WRONLY : O_RDONLY)
        }
    }

    /// Writes all bytes. Returns the `errno` of a failure; `nil` for success.
    private static func send(_ bytes: [UInt8], to descriptor: Int32) -> Int32? {
        var bytes = bytes[...]
        while !bytes.isEmpty {
            let written = bytes.withUnsafeBytes { systemWrite(descriptor, $0) }
            if written < 0 {
                switch errno {
                case EINTR: continue
                case EAGAIN:
                    // The pipe is full, and another process made it non-blocking.
                    var waiting = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                    _ = poll(&waiting, 1, -1)
                    continue
                default: return errno
                }
            }
            bytes = bytes.dropFirst(written)
        }
        return nil
    }
}

private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
    write(descriptor, bytes.baseAddress, bytes.count)
}

/// Output that could not be written. The command ends with status 2 and one sentence, or silently if the reader of a
/// pipe closed it.
struct OutputFailure: Error {
    let sentence: String
    /// Whether the reader closed the pipe.
    let isClosedPipe: Bool

    /// - Parameters:
    ///   - place: the output, such as a file's path.
    ///   - errorNumber: the `errno` of the failure.
    init(_ place: String, _ errorNumber: Int32) {
        sentence = "\(place) cannot be written: \(String(cString: strerror(errorNumber)))"
        isClosedPipe = errorNumber == EPIPE
    }
}

/// The result of writing a service's first line. A service that cannot write it stops.
struct Announcement {
    fileprivate let failure: OutputFailure?

    var isWritten: Bool { failure == nil }

    func check() throws(OutputFailure) {
        if let failure { throw failure }
    }
}

/// Reads files that were named on the command line.
enum InputFile {
    /// Returns the bytes of `path`, where `-` is standard input. Throws `UsageError` with the path when it cannot be read
    /// or is larger than `limit` bytes.
    static func read(_ path: String, limit: Int = 16 << 20) throws -> [UInt8] {
        if path == "-" {
            guard let data = try? FileHandle.standardInput.readToEnd() ?? Data() else {
                throw UsageError("standard input cannot be read")
            }
            guard data.count <= limit else { throw UsageError("standard input holds more than \(limit) bytes") }
            return Array(data)
        }
        var isDirectory: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else {
            throw UsageError(path: path, "there is no such file")
        }
        guard !isDirectory.boolValue else { throw UsageError(path: path, "this is a folder, not a file") }
        // `FileManager.contents` reads regular files only; this may be a pipe.
        guard let file = FileHandle(forReadingAtPath: path), let data = try? file.read(upToCount: limit + 1) ?? Data()
        else { throw UsageError(path: path, "the file cannot be read; check its permissions") }
        guard data.count <= limit else { throw UsageError("\(path): the file holds more than \(limit) bytes") }
        return Array(data)
    }

    /// Whether both paths are the same file, also through links; `false` if one is missing.
    static func areSame(_ path: String, _ other: String) -> Bool {
        var (first, second) = (stat(), stat())
        guard stat(path, &first) == 0, stat(other, &second) == 0 else { return false }
        return first.st_dev == second.st_dev && first.st_ino == second.st_ino
    }

    /// The absolute form of `path`.
    static func absolute(_ path: String) -> String {
        path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
    }

    /// The text of the file at `path`, without white space at its ends.
    static func text(_ path: String) throws -> String {
        guard let text = String(utf8: try read(path)) else {
            throw UsageError("\(path): the file is not UTF-8 text")
        }
        return text.trimmingCharacters(in: .whitespacesAndNewlines)
    }
}
