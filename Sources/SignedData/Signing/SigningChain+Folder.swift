import Foundation

extension SigningChain {
    /// Returns the file with all keys and certificates in the folder of ``open(in:)``.
    ///
    /// - Parameter folder: The folder.
    /// - Returns: The URL of `signing-chain.pem`.
    public static func file(in folder: URL) -> URL { folder.appendingPathComponent("signing-chain.pem") }

    /// Returns the file with the root in DER, for programs that trust it.
    ///
    /// - Parameter folder: The folder.
    /// - Returns: The URL of `root.der`.
    public static func rootFile(in folder: URL) -> URL { folder.appendingPathComponent("root.der") }

    /// Returns the chain in a folder. The first call creates it. If several processes call at once, one of them creates
    /// it.
    ///
    /// The file with the keys has mode 0600 and is complete whenever it exists. Each call also writes the root to
    /// ``rootFile(in:)``, unless that file has it already.
    ///
    /// - Parameter folder: The folder, which is created if it does not exist.
    /// - Returns: The chain.
    /// - Throws: `SignedDataError` with `storageFailed` if the folder cannot be created, read or written; with
    ///   `signingChainInvalid` or a similar code if the file was changed; with `cryptographyFailed` if no chain can be
    ///   created.
    public static func open(in folder: URL) throws(SignedDataError) -> SigningChain {
        do {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        } catch {
            throw SignedDataError(.storageFailed, "The folder \(folder.path) cannot be created.", underlying: error)
        }
        let known = try load(from: folder)
        let chain = if let known { known } else { try create(in: folder) }
        if (try? Data(contentsOf: rootFile(in: folder))) != Data(chain.root.der) {
            try AtomicFile(rootFile(in: folder)).write(chain.root.der, mode: 0o644)
        }
        return chain
    }

    /// Returns the chain in a folder.
    ///
    /// - Parameter folder: The folder.
    /// - Returns: The chain, or `nil` if there is none.
    /// - Throws: `SignedDataError`, as ``open(in:)``.
    public static func load(from folder: URL) throws(SignedDataError) -> SigningChain? {
        let file = file(in: folder)
        let bytes: Data
        do { bytes = try Data(contentsOf: file) } catch {
            // Decides by the error: another process may have created the file meanwhile.
            if (error as? CocoaError)?.code == .fileReadNoSuchFile { return nil }
            throw SignedDataError(.storageFailed, "The file \(file.path) cannot be read.", underlying: error)
        }
        return try SigningChain(pem: Array(bytes))
    }

    private static func create(in folder: URL) throws(SignedDataError) -> SigningChain {
        let chain = try generate()
        if try AtomicFile(file(in: folder)).create(Array(chain.pem.utf8), mode: 0o600) { return chain }
        guard let existing = try load(from: folder) else {
            throw SignedDataError(
                .storageFailed, "The file \(file(in: folder).path) was created and then removed by another process.")
        }
        return existing
    }
}

/// A file that either does not exist or is complete, even after a power failure.
struct AtomicFile {
    private let path: String

    init(_ file: URL) { path = file.path }

    /// Replaces the file.
    func write(_ bytes: [UInt8], mode: mode_t) throws(SignedDataError) {
        let draft = try draft(bytes, mode: mode)
        guard rename(draft, path) == 0 else { throw failure(removing: draft) }
        syncFolder()
    }

    /// Creates the file. Returns `false` and changes nothing if it exists.
    func create(_ bytes: [UInt8], mode: mode_t) throws(SignedDataError) -> Bool {
        let draft = try draft(bytes, mode: mode)
        guard link(draft, path) == 0 else {
            if errno != EEXIST { throw failure(removing: draft) }
            unlink(draft)
            return false
        }
        unlink(draft)
        syncFolder()
        return true
    }

    /// Writes a complete file beside the destination, with a unique name.
    private func draft(_ bytes: [UInt8], mode: mode_t) throws(SignedDataError) -> String {
        var name = Array((path + ".XXXXXX").utf8CString)
        let descriptor = mkstemp(&name)
        let draft = String(decoding: name.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        guard descriptor >= 0 else { throw failure(removing: nil) }
        var written = 0
        while written < bytes.count {
            let count = bytes[written...].withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            written += count
        }
        let isComplete = written == bytes.count && fchmod(descriptor, mode) == 0 && fsync(descriptor) == 0
        let error = isComplete ? nil : failure(removing: draft)
        close(descriptor)
        if let error { throw error }
        return draft
    }

    private func syncFolder() {
        let folder = Foundation.open((path as NSString).deletingLastPathComponent, O_RDONLY)
        guard folder >= 0 else { return }
        fsync(folder)
        close(folder)
    }

    private func failure(removing draft: String?) -> SignedDataError {
        let reason = String(cString: strerror(errno))
        if let draft { unlink(draft) }
        return SignedDataError(.storageFailed, "The file \(path) cannot be written: \(reason).")
    }
}
