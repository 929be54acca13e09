import CFaultyDisk
import Foundation
import Primitives

/// A folder on a disk that loses power and fails on request; for SQLite's files in it.
final class FaultyDisk: @unchecked Sendable {
    // Sendable: `disk` is set once in `init`, and its functions lock.
    private var disk: OpaquePointer?
    private let observe: @Sendable (FaultyDisk, Int64) -> Void

    /// - Parameter observe: called before each operation that changes a file, with its number, on the thread that asks
    ///   for it.
    init(_ folder: URL, observe: @escaping @Sendable (FaultyDisk, Int64) -> Void = { _, _ in }) throws {
        self.observe = observe
        disk = faulty_disk_attach(folder.path, faultyDiskOperation, Unmanaged.passUnretained(self).toOpaque())
        guard disk != nil else { throw CocoaError(.fileNoSuchFile) }
    }

    /// To be called when the database is closed.
    func detach() {
        if let disk { faulty_disk_detach(disk) }
        disk = nil
    }

    /// How many operations there were.
    var operations: Int64 { disk.map { faulty_disk_operations($0) } ?? 0 }

    /// Lets an operation fail, and those after it too if `forEver`.
    func fail(at operation: Int64, forEver: Bool = false) {
        if let disk { faulty_disk_fail(disk, operation, forEver ? 1 : 0) }
    }

    /// What would be left if the power went now, in a new folder. Of what was never synced nothing is left for seed 0;
    /// for others about half, chosen by the seed.
    func afterPowerCut(seed: UInt64 = 0) throws -> ServerBench.Folder {
        let folder = try ServerBench.Folder()
        guard let disk, faulty_disk_write_image(disk, folder.url.path, seed) == 0 else {
            throw CocoaError(.fileWriteUnknown)
        }
        return folder
    }

    fileprivate func began(_ operation: Int64) { observe(self, operation) }
}

private func faultyDiskOperation(_ context: UnsafeMutableRawPointer?, _ operation: Int64) {
    guard let context else { return }
    // Whoever made the disk keeps it until it is detached.
    Unmanaged<FaultyDisk>.fromOpaque(context).takeUnretainedValue().began(operation)
}

extension ServerBench.Folder {
    /// The database files of another folder, as they are at this moment; what a killed process leaves.
    convenience init(copyOf other: URL) throws {
        try self.init()
        for name in try FileManager.default.contentsOfDirectory(atPath: other.path)
        where !name.hasSuffix("-shm") && !name.hasSuffix(".lock") {
            try FileManager.default.copyItem(
                at: other.appendingPathComponent(name), to: url.appendingPathComponent(name))
        }
    }

    /// Tells contents apart.
    func digest() throws -> [UInt8] {
        var text: [UInt8] = []
        for name in try FileManager.default.contentsOfDirectory(atPath: url.path).sorted() {
            text += Array(name.utf8) + SHA256.hash(try Data(contentsOf: url.appendingPathComponent(name)))
        }
        return SHA256.hash(text)
    }
}
