import Foundation

/// Writes the files of the data folder that contain private keys.
enum PrivateFile {
    /// Writes a file that only its owner can read, and renames it into place when it is complete.
    static func write(_ bytes: [UInt8], to path: String) throws {
        let draft = path + ".draft"
        unlink(draft)
        let descriptor = Foundation.open(draft, O_WRONLY | O_CREAT | O_EXCL, 0o600)
        guard descriptor >= 0 else { throw failure(path) }
        let count = bytes.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
        let isWritten = count == bytes.count && fsync(descriptor) == 0
        close(descriptor)
        guard isWritten, rename(draft, path) == 0 else { throw failure(path) }
    }

    private static func failure(_ path: String) -> SimulatorError {
        SimulatorError(.dataFolder, "The file \(path) cannot be written: \(String(cString: strerror(errno))).")
    }
}
