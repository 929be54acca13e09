import Foundation
import Primitives

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Where text for people and programs goes: answers to standard output, everything else to standard error.
enum Terminal {
    /// Prints one line to standard output at once.
    static func print(_ text: TerminalText) { write(text.written + "\n", to: 1) }

    /// Prints `text` without a line end to standard output.
    static func write(_ text: TerminalText) { write(text.written, to: 1) }

    /// Writes a document, which another program reads, to standard output: as it is, but to a terminal with its control
    /// characters escaped.
    static func write(document: String) {
        write(isatty(1) == 1 ? TerminalText.lines(document).written : document, to: 1)
    }

    /// Prints one line to standard error.
    static func note(_ text: TerminalText) { write(text.written + "\n", to: 2) }

    /// Prints one JSON value and a line end to standard error.
    static func note(json value: JSONValue) { note(.json(value.text())) }

    /// Writes `text` without a line end to standard error.
    static func write(error text: TerminalText) { write(text.written, to: 2) }

    /// Whether somebody is looking at standard error.
    static let showsProgress = isatty(2) == 1 && ProcessInfo.processInfo.environment["TERM"] != "dumb"

    /// Prints one JSON value and a line end to standard output.
    static func print(json value: JSONValue, pretty: Bool = false) { print(.json(value.text(pretty: pretty))) }

    /// Colour only on a terminal, and never with `NO_COLOR`.
    static let usesColour: Bool =
        isatty(1) == 1 && (ProcessInfo.processInfo.environment["NO_COLOR"] ?? "").isEmpty
        && ProcessInfo.processInfo.environment["TERM"] != "dumb"

    static func green(_ text: TerminalText) -> TerminalText { usesColour ? "\u{1B}[32m\(text)\u{1B}[0m" : text }
    static func red(_ text: TerminalText) -> TerminalText { usesColour ? "\u{1B}[31m\(text)\u{1B}[0m" : text }
    static func dim(_ text: TerminalText) -> TerminalText { usesColour ? "\u{1B}[2m\(text)\u{1B}[0m" : text }
    static func bold(_ text: TerminalText) -> TerminalText { usesColour ? "\u{1B}[1m\(text)\u{1B}[0m" : text }

    private static func write(_ text: String, to descriptor: Int32) {
        var bytes = Array(text.utf8)[...]
        while !bytes.isEmpty {
            let written = bytes.withUnsafeBytes { systemWrite(descriptor, $0) }
            if written < 0 {
                if errno == EINTR || errno == EAGAIN { continue }
                return
            }
            bytes = bytes.dropFirst(written)
        }
    }
}

private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
    write(descriptor, bytes.baseAddress, bytes.count)
}

/// Reads files that a person named on the command line.
enum InputFile {
    /// The bytes of `path`, `-` being standard input. Throws `Misuse` naming the path when it cannot be read or holds
    /// more than `limit` bytes.
    static func read(_ path: String, limit: Int = 16 << 20) throws -> [UInt8] {
        if path == "-" {
            let data = FileHandle.standardInput.readDataToEndOfFile()
            guard data.count <= limit else { throw Misuse("standard input holds more than \(limit) bytes") }
            return Array(data)
        }
        var isDirectory: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else {
            throw Misuse("\(path): there is no such file")
        }
        guard !isDirectory.boolValue else { throw Misuse("\(path): this is a folder, not a file") }
        // Not `FileManager.contents`, which reads regular files only: this may be a pipe.
        guard let file = FileHandle(forReadingAtPath: path), let data = try? file.read(upToCount: limit + 1) ?? Data()
        else { throw Misuse("\(path): the file cannot be read; check its permissions") }
        guard data.count <= limit else { throw Misuse("\(path): the file holds more than \(limit) bytes") }
        return Array(data)
    }

    /// `path` from the root on.
    static func absolute(_ path: String) -> String {
        path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
    }

    /// The text of `path` without white space at its ends.
    static func text(_ path: String) throws -> String {
        guard let text = String(validating: try read(path), as: UTF8.self) else {
            throw Misuse("\(path): the file is not UTF-8 text")
        }
        return text.trimmingCharacters(in: .whitespacesAndNewlines)
    }
}
