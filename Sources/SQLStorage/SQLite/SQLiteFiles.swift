import Foundation
import Primitives

/// The claim of this process on a database file: held by one database at a time.
///
/// Two writers in a process would not share commits, and each would wait for the other's lock without need.
struct OpenFile: Sendable {
    private struct Identity: Hashable {
        let device: UInt64
        let inode: UInt64
    }

    private static let open = Locked<Set<Identity>>([])
    private let identity: Identity

    /// Claims the file at `path`, which exists.
    init(path: String) throws(SQLError) {
        var status = stat()
        guard stat(path, &status) == 0 else {
            throw SQLError(
                .cannotOpen, "The database \(path) cannot be opened: \(String(cString: strerror(errno))).")
        }
        let identity = Identity(
            device: UInt64(truncatingIfNeeded: status.st_dev), inode: UInt64(truncatingIfNeeded: status.st_ino))
        guard Self.open.withLock({ $0.insert(identity).inserted }) else {
            throw SQLError(
                .alreadyOpen, "The database \(path) is open in this process already; share it or close it first.")
        }
        self.identity = identity
    }

    func release() {
        _ = Self.open.withLock { $0.remove(identity) }
    }
}

/// A folder of its own for a database that nobody keeps.
enum TemporaryFolder {
    static func make(in folder: String?) throws(SQLError) -> String {
        let memory = "/dev/shm"
        let parent = folder ?? (access(memory, W_OK) == 0 ? memory : NSTemporaryDirectory())
        var template = Array((parent + "/sqlite.XXXXXX").utf8CString)
        guard mkdtemp(&template) != nil else {
            throw SQLError(
                .cannotOpen,
                "A temporary database cannot be made in \(parent): \(String(cString: strerror(errno))).")
        }
        return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    static func remove(_ folder: String) {
        // Whatever cannot be removed from a temporary folder, the system removes in its time.
        try? FileManager.default.removeItem(atPath: folder)
    }
}
