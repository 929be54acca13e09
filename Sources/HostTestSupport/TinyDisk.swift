import Foundation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A small disk in memory that can really be full. Root can mount one on Linux, unless a container forbids it.
package struct TinyDisk {
    package let path: String

    package static let isAvailable: Bool = {
        let probe = FileManager.default.temporaryDirectory.appendingPathComponent("disk-\(UUID().uuidString)").path
        guard let disk = try? TinyDisk(at: probe, bytes: 1 << 16) else { return false }
        disk.remove()
        return true
    }()

    /// Mounts the disk at the folder `path`.
    ///
    /// - Throws: `POSIXError`.
    package init(at path: String, bytes: Int) throws {
        self.path = path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        try Self.mount(path, options: "size=\(bytes),mode=700")
    }

    package func resize(to bytes: Int) throws { try Self.mount(path, remounting: true, options: "size=\(bytes)") }

    package func makeReadOnly() throws { try Self.mount(path, remounting: true, readOnly: true, options: "") }

    package func remove() {
        #if canImport(Glibc) || canImport(Musl)
            _ = umount(path)
        #endif
        try? FileManager.default.removeItem(atPath: path)
    }

    private static func mount(
        _ path: String, remounting: Bool = false, readOnly: Bool = false, options: String
    ) throws {
        #if canImport(Glibc)
            let flags = (remounting ? UInt(MS_REMOUNT) : 0) | (readOnly ? UInt(MS_RDONLY) : 0)
            if Glibc.mount("tmpfs", path, "tmpfs", flags, options) == 0 { return }
        #endif
        throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EPERM)
    }
}
