import Foundation

/// What the system said when a file or a folder could not be read, written or moved.
public struct FileFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// What was tried, as in "write" or "flush".
    public let action: String
    public let path: String
    /// The system's number, as `ENOSPC`.
    public let errorNumber: Int32

    public init(_ action: String, _ path: String, _ errorNumber: Int32) {
        self.action = action
        self.path = path
        self.errorNumber = errorNumber
    }

    /// The disk, the user's quota or the longest file there may be is used up.
    public var isDiskFull: Bool { [ENOSPC, EDQUOT, EFBIG].contains(errorNumber) }

    /// This user may not, or nobody may because the disk is read-only.
    public var isNotPermitted: Bool { [EACCES, EPERM, EROFS].contains(errorNumber) }

    /// The system's own words.
    public var systemReason: String { String(cString: strerror(errorNumber)) }

    public var description: String { "cannot \(action) \(path) (\(systemReason))" }
}
