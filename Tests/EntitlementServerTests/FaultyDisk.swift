import CFaultyDisk
import Foundation
import Primitives

/// A folder for SQLite's files on a disk that loses power and fails on demand.
final class FaultyDisk: @unchecked Sendable {
    private var disk: OpaquePointer?
    private let observe: @Sendable (FaultyDisk, Int64) -> Void

    /// - Parameter observe: Called before each operation that changes a file, with its number, on the calling thread.
    init(_ folder: URL, observe: @escaping @Sendable (FaultyDisk, Int64) -> Void = { _, _ in }) throws {
        self.observe = observe
        disk = faulty_disk_attach(folder.path, faultyDiskOperation, Unmanaged.passUnretained(self).toOpaque())
        guard disk != nil else { throw CocoaError(.fileNoSuchFile) }
    }

    /// Detaches the disk, after the database was closed.
    func detach() {
        if let disk { faulty_disk_detach(disk) }
        disk = nil
    }

    /// The number of operations so far that change a file.
    var operations: Int64 { disk.map { faulty_disk_operations($0) } ?? 0 }

    /// Makes an operation fail, and with `forEver` all later ones too.
    func fail(at operation: Int64, forEver: Bool = false) {
        if let disk { faulty_disk_fail(disk, operation, forEver ? 1 : 0) }
    }

    /// Copies the state after a power cut at this moment to a new folder. With seed 0 all unsynced data is lost; with
    /// another seed, about half of it.
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
    // The owner keeps the disk until it is detached.
    Unmanaged<FaultyDisk>.fromOpaque(context).takeUnretainedValue().began(operation)
}

extension ServerBench.Folder {
    /// Copies the database files of another folder, as a killed process leaves them.
    convenience init(copyOf other: URL) throws {
        try self.init()
        for name in try FileManager.default.contentsOfDirectory(atPath: other.path)
        where !name.hasSuffix("-shm") && !name.hasSuffix(".lock") {
            try FileManager.default.copyItem(
                at: other.appendingPathComponent(name), to: url.appendingPathComponent(name))
        }
    }

    /// Returns a digest of the contents.
    func digest() throws -> [UInt8] {
        var text: [UInt8] = []
        for name in try FileManager.default.contentsOfDirectory(atPath: url.path).sorted() {
            text += Array(name.utf8) + SHA256.hash(try Data(contentsOf: url.appendingPathComponent(name)))
        }
        return SHA256.hash(text)
    }
}
