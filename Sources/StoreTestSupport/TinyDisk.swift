import Foundation

/// A disk of a few blocks, in memory, that is really full. Linux lets root mount one, unless a container forbids it.
public struct TinyDisk {
    public let path: String

    public static let isAvailable: Bool = {
        let probe = FileManager.default.temporaryDirectory.appendingPathComponent("disk-\(UUID().uuidString)").path
        guard let disk = try? TinyDisk(at: probe, bytes: 1 << 16) else { return false }
        disk.remove()
        return true
    }()

    /// Makes the folder `path` one. Throws `POSIXError`.
    public init(at path: String, bytes: Int) throws {
        self.path = path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        try Self.run("mount", ["-t", "tmpfs", "-o", "size=\(bytes),mode=700", "tmpfs", path])
    }

    public func resize(to bytes: Int) throws { try Self.run("mount", ["-o", "remount,size=\(bytes)", path]) }

    public func makeReadOnly() throws { try Self.run("mount", ["-o", "remount,ro", path]) }

    public func remove() {
        try? Self.run("umount", [path])
        try? FileManager.default.removeItem(atPath: path)
    }

    private static func run(_ program: String, _ arguments: [String]) throws {
        guard let path = OutsideJudge.path(of: program) else { throw POSIXError(.ENOENT) }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = arguments
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw POSIXError(.EPERM) }
    }
}
