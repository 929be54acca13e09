import Foundation
import Primitives
import StoreModel

/// Copies the files and folders in a folder, within the limits for archives. Refuses links and special files.
struct FolderCopy {
    let limits: ExtractionLimits
    private var entries = 0
    private var bytes = 0

    init(limits: ExtractionLimits) { self.limits = limits }

    /// Replaces `folder` with the copy atomically. Throws `contentExtractionFailed`, `FileFailure`, and
    /// `CancellationError`. After an error, the former content stays.
    mutating func replace(_ folder: String, with source: String) throws {
        let replacement = try FolderReplacement(of: folder)
        try copy(source, to: replacement.path, depth: 1)
        try replacement.commit()
    }

    private mutating func copy(_ source: String, to target: String, depth: Int) throws {
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: source) else {
            throw FileFailure("read", source, errno == 0 ? EIO : errno)
        }
        for name in names {
            try Task.checkCancellation()
            let (from, to) = ("\(source)/\(name)", "\(target)/\(name)")
            var status = stat()
            guard lstat(from, &status) == 0 else { throw FileFailure("read", from, errno) }
            entries += 1
            guard entries <= limits.entries, depth <= limits.depth else { throw Self.tooMuch }
            switch status.st_mode & S_IFMT {
            case S_IFDIR:
                guard mkdir(to, 0o700) == 0 else { throw FileFailure("write", to, errno) }
                try copy(from, to: to, depth: depth + 1)
            case S_IFREG: try copyFile(from, to)
            default:
                throw PurchaseError(
                    .contentExtractionFailed,
                    "\(name) is neither a file nor a folder. Content may contain only files and folders.")
            }
        }
    }

    private mutating func copyFile(_ source: String, _ target: String) throws {
        let input = open(source, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        guard input >= 0 else { throw FileFailure("read", source, errno) }
        defer { close(input) }
        let output = try DurableFile.create(target, mode: 0o600)
        defer { close(output) }
        var buffer = [UInt8](repeating: 0, count: 256 << 10)
        while true {
            try Task.checkCancellation()
            let count = DurableFile.retrying { read(input, &buffer, buffer.count) }
            guard count >= 0 else { throw FileFailure("read", source, errno) }
            if count == 0 { return }
            bytes += count
            guard bytes <= limits.totalBytes else { throw Self.tooMuch }
            try buffer[..<count].withUnsafeBufferPointer { bytes throws(FileFailure) in
                try DurableFile.append(UnsafeRawBufferPointer(bytes), to: output, path: target)
            }
        }
    }

    private static let tooMuch = PurchaseError(
        .contentExtractionFailed, "The content has more files, bytes or nested folders than the limit.")
}
