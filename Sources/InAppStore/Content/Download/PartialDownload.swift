import Foundation
import Primitives

/// A file that is being downloaded, and its state, on disk. A later run that opens the same folder continues the
/// download.
///
/// Bytes without a record of their version are dropped. The file therefore always contains the beginning of one
/// version, even if the process is killed.
final class PartialDownload: Sendable {
    let path: String
    private let record: String
    private let file: Int32
    private let current: Locked<DownloadState>

    /// Opens the download in an existing folder. Throws `FileFailure`.
    init(in folder: String) throws(FileFailure) {
        path = folder + "/archive"
        record = folder + "/archive.json"
        file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw FileFailure("write", path, errno) }
        current = Locked(DownloadState())
        var status = stat()
        guard fstat(file, &status) == 0 else { throw FileFailure("read", path, errno) }
        let size = Int(status.st_size)
        if let known = try Self.read(record), known.total.map({ size <= $0 }) ?? true {
            current.withLock {
                $0 = known
                $0.received = size
            }
        } else if size > 0 {
            try reset()
        }
    }

    deinit { if file >= 0 { close(file) } }

    var state: DownloadState { current.withLock { $0 } }

    /// Prepares for the next bytes of `state`. If `state.received` is 0, deletes the bytes of earlier requests.
    func begin(_ state: DownloadState) throws(FileFailure) {
        let isChanged = current.withLock { $0.version != state.version || $0.total != state.total }
        if state.received == 0 { try reset() }
        if state.received == 0 || isChanged { try write(state) }
        current.withLock { $0 = state }
    }

    func append(_ bytes: [UInt8]) throws(FileFailure) {
        try bytes.withUnsafeBufferPointer { bytes throws(FileFailure) in
            try DurableFile.append(UnsafeRawBufferPointer(bytes), to: file, path: path)
        }
        current.withLock { $0.received += bytes.count }
    }

    /// Marks the download as complete. Call it only if the server did not announce the length.
    func end() throws(FileFailure) {
        var state = state
        state.total = state.received
        try write(state)
        current.withLock { [state] in $0 = state }
    }

    /// Deletes the received bytes.
    func reset() throws(FileFailure) {
        guard unlink(record) == 0 || errno == ENOENT else { throw FileFailure("remove", record, errno) }
        guard ftruncate(file, 0) == 0 else { throw FileFailure("write", path, errno) }
        current.withLock { $0 = DownloadState() }
    }

    private func write(_ state: DownloadState) throws(FileFailure) {
        var json: JSONObject = [:]
        json["entityTag"] = state.version.entityTag.map { .string($0) }
        json["lastModified"] = state.version.lastModified.map { .string($0) }
        json["total"] = state.total.map { .number($0) }
        try DurableFile.write(JSONValue.object(json).encoded(), to: record, by: record + ".new")
    }

    private static func read(_ record: String) throws(FileFailure) -> DownloadState? {
        guard let bytes = try DurableFile.read(record, upTo: 64 << 10), let json = try? JSONValue(parsing: bytes) else {
            return nil
        }
        let version = ContentVersion(
            entityTag: json["entityTag"]?.stringValue, lastModified: json["lastModified"]?.stringValue)
        return DownloadState(version: version, total: json["total"]?.intValue)
    }
}
