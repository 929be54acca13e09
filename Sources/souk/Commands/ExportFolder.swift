import EntitlementServer
import Foundation
import Primitives

/// A folder to which `souk export` writes rows as JSON lines. Each file is named after the position of its first row.
///
/// Rows are appended to `events-N.jsonl.partial` and flushed to the disk. A file is completed in these steps, after each
/// of which a crash loses nothing and repeats nothing in the completed files:
///
/// 1. The file is compressed to `events-N.jsonl.gz.partial`, which is flushed.
/// 2. The position of its last row replaces the content of `events.cursor`, which is flushed.
/// 3. The compressed file is renamed to `events-N.jsonl.gz`.
/// 4. `events-N.jsonl.partial` is removed.
///
/// So a completed file may be moved away at any time, and the cursor alone decides which rows follow. After a crash,
/// steps 3 and 4 are repeated for a partial file that the cursor contains. Another partial file is completed with the
/// rows before its last position, because the killed process may have written only a part of the last rows. These
/// rows are then read again.
final class ExportFolder {
    /// The conditions under which a file is completed.
    struct Rotation {
        /// The number of bytes before compression.
        var bytes: Int
        /// The time since the first row of the file.
        var period: Duration
    }

    private struct PartialFile {
        let first: Int64
        var last: Int64
        var bytes: Int
        let descriptor: Int32
        let createdAt: ContinuousClock.Instant
    }

    /// The position of the last row in the files.
    private(set) var cursor: Int64
    private let path: String
    private let content: LedgerExport.Content
    private let rotation: Rotation
    private let clock: MonotonicClock
    /// Receives the path of each completed file. A path is repeated if the process is killed at this time.
    private let completed: (String) throws -> Void
    /// The descriptor of the folder, which holds its lock.
    private let folder: Int32
    private var file: PartialFile?

    /// Opens a folder, or creates it, and completes the file that a killed process left behind.
    ///
    /// Throws `UsageError` if another process writes to the folder, if its cursor is missing or damaged, or if it has
    /// one and `since` is not `nil`; and `OutputFailure`.
    ///
    /// - Parameter since: The position after which a new folder begins; `nil` for the first row.
    init(
        _ path: String, of content: LedgerExport.Content, since: Int64?, rotation: Rotation,
        clock: MonotonicClock = MonotonicClock(), completed: @escaping (String) throws -> Void
    ) throws {
        self.path = path
        self.content = content
        self.rotation = rotation
        self.clock = clock
        self.completed = completed
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw OutputFailure(path, errno) }
        folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { throw OutputFailure(path, errno) }
        cursor = since ?? 0
        guard DurableFile.retrying({ Int(flock(folder, LOCK_EX | LOCK_NB)) }) == 0 else {
            throw UsageError("\(path): another souk export writes to this folder; stop it, or name another folder")
        }
        let names = try FileManager.default.contentsOfDirectory(atPath: path)
        let stored = try storedCursor(among: names)
        let partial = names.compactMap { position(of: $0, suffix: Self.partial) }.sorted()
        if since != nil, stored != nil || !partial.isEmpty {
            throw UsageError("\(path): an export to this folder goes on by itself; --since is for a new folder")
        }
        try Self.reporting {
            if let stored { cursor = stored } else if since != nil { try store(cursor) }
        }
        for first in partial { try recover(first) }
        try Self.reporting {
            for name in names {
                guard let first = position(of: name, suffix: Self.compressed + Self.unfinished) else { continue }
                if !partial.contains(first) { try remove(filePath(first, Self.compressed + Self.unfinished)) }
            }
        }
    }

    deinit {
        if let file { close(file.descriptor) }
        if folder >= 0 { close(folder) }
    }

    // MARK: - Names

    private static let unfinished = ".partial"
    private static let partial = ".jsonl" + unfinished
    private static let compressed = ".jsonl.gz"
    /// The number of digits of a position in names, so that names sort in the order of the rows.
    private static let digits = 19

    private var cursorPath: String { "\(path)/\(content.rawValue).cursor" }

    private func filePath(_ first: Int64, _ suffix: String) -> String {
        let digits = String(first)
        let zeros = String(repeating: "0", count: max(0, Self.digits - digits.utf8.count))
        return "\(path)/\(content.rawValue)-\(zeros)\(digits)\(suffix)"
    }

    private func position(of name: String, suffix: String) -> Int64? {
        let prefix = content.rawValue + "-"
        guard name.hasPrefix(prefix), name.hasSuffix(suffix) else { return nil }
        let digits = name.dropFirst(prefix.count).dropLast(suffix.count)
        guard digits.utf8.count == Self.digits, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        return Int64(digits)
    }

    // MARK: - Rows

    /// Appends rows, which follow the cursor, and flushes them to the disk. Completes each file that is large enough.
    func append(_ rows: [LedgerExport.Row]) throws {
        var rest = rows[...]
        while let first = rest.first {
            var (lines, last) = ([UInt8](), first.position)
            let room = rotation.bytes - (file?.bytes ?? 0)
            // Rows with one position are not separated, because the cursor is between positions.
            while let row = rest.first, lines.count < room || row.position == last {
                lines += content.line(row.values)
                last = row.position
                rest.removeFirst()
            }
            try Self.reporting { try write(lines, from: first.position, to: last) }
            if let file, file.bytes >= rotation.bytes { try finish() }
        }
    }

    /// Completes the file if it is old enough.
    func rotate() throws {
        if let file, clock.now - file.createdAt >= rotation.period { try finish() }
    }

    /// Completes the file, if there is one.
    func finish() throws {
        guard let file else { return }
        self.file = nil
        close(file.descriptor)
        try complete(file.first, upTo: file.last)
    }

    private func write(_ lines: [UInt8], from first: Int64, to last: Int64) throws(FileFailure) {
        let isNew = file == nil
        if isNew { file = try create(from: first) }
        guard var file else { return }
        let path = filePath(file.first, Self.partial)
        try lines.withUnsafeBufferPointer { bytes throws(FileFailure) in
            try DurableFile.append(UnsafeRawBufferPointer(bytes), to: file.descriptor, path: path)
        }
        try DurableFile.flush(path)
        if isNew { try DurableFile.flush(self.path) }
        file.bytes += lines.count
        file.last = last
        self.file = file
        cursor = last
    }

    private func create(from first: Int64) throws(FileFailure) -> PartialFile {
        let descriptor = try DurableFile.create(filePath(first, Self.partial), mode: 0o600)
        return PartialFile(first: first, last: first, bytes: 0, descriptor: descriptor, createdAt: clock.now)
    }

    // MARK: - Completion

    private func complete(_ first: Int64, upTo last: Int64) throws {
        let new = filePath(first, Self.compressed + Self.unfinished)
        try Self.reporting {
            try remove(new)
            try GzipFile.compress(filePath(first, Self.partial), to: new)
            try DurableFile.flush(new)
            try DurableFile.flush(path)
            try store(last)
        }
        try settle(first)
    }

    /// Repeats or does the steps after the cursor was stored.
    private func settle(_ first: Int64) throws {
        let (new, final) = (filePath(first, Self.compressed + Self.unfinished), filePath(first, Self.compressed))
        try Self.reporting {
            guard rename(new, final) == 0 || errno == ENOENT else { throw FileFailure("write", final, errno) }
            try DurableFile.flush(path)
        }
        // The file is missing if it was moved away before the crash.
        if access(final, F_OK) == 0 { try completed(final) }
        try Self.reporting { try remove(filePath(first, Self.partial)) }
    }

    private func recover(_ first: Int64) throws {
        guard first > cursor else { return try settle(first) }
        let partial = filePath(first, Self.partial)
        guard let (bytes, last) = try Self.wholeRows(of: partial) else {
            return try Self.reporting { try remove(partial) }
        }
        try Self.reporting {
            guard truncate(partial, off_t(bytes)) == 0 else { throw FileFailure("write", partial, errno) }
            try DurableFile.flush(partial)
        }
        try complete(first, upTo: last)
        cursor = last
    }

    /// Returns the number of bytes of the rows before the last position in a file, and the position of the last of
    /// them; `nil` if there is none. A loss of power can leave zeros behind, also in the middle.
    private static func wholeRows(of path: String) throws -> (bytes: Int, last: Int64)? {
        let lines = try LineFile(path)
        var whole: (bytes: Int, last: Int64)?
        var (bytes, position) = (0, nil as Int64?)
        while let line = try lines.next(), let next = Self.position(of: line.bytes), next >= position ?? 0 {
            if let position, next > position { whole = (bytes, position) }
            position = next
            bytes += line.bytes.count + 1
        }
        return whole
    }

    private static func position(of line: [UInt8]) -> Int64? {
        guard let row = try? JSONValue(parsing: line) else { return nil }
        return row["sequence"]?.intValue.map { Int64($0) } ?? row["id"]?.stringValue.flatMap { Int64($0) }
    }

    private func remove(_ path: String) throws(FileFailure) {
        guard unlink(path) == 0 || errno == ENOENT else { throw FileFailure("remove", path, errno) }
    }

    // MARK: - Cursor

    private func store(_ cursor: Int64) throws(FileFailure) {
        try DurableFile.write(Array("\(cursor)\n".utf8), to: cursorPath, by: cursorPath + Self.unfinished)
        try DurableFile.flush(path)
    }

    private func storedCursor(among names: [String]) throws -> Int64? {
        let bytes = try Self.reporting { try DurableFile.read(cursorPath, upTo: 64) }
        guard let bytes else {
            guard !names.contains(where: { position(of: $0, suffix: Self.compressed) != nil }) else {
                throw UsageError(
                    "\(cursorPath) is missing, which has the position to go on from; put it back, or name a new folder")
            }
            return nil
        }
        let text = String(decoding: bytes, as: UTF8.self)
        guard text.hasSuffix("\n"), let cursor = Int64(text.dropLast()), cursor >= 0 else {
            throw UsageError("\(cursorPath): this is no position; put the former file back, or name a new folder")
        }
        return cursor
    }

    /// Runs `work`, and replaces `FileFailure` by `OutputFailure`.
    private static func reporting<Value>(_ work: () throws -> Value) throws -> Value {
        do { return try work() } catch let error as FileFailure { throw OutputFailure(error.path, error.errorNumber) }
    }
}

extension LedgerExport.Content {
    /// Returns a row as a line of JSON, without absent values.
    func line(_ values: [JSONValue]) -> [UInt8] {
        var object: JSONValue = [:]
        for (name, value) in zip(columns, values) where value != .null { object[name] = value }
        return object.encoded() + [UInt8(ascii: "\n")]
    }
}
