import Foundation

/// What the system said when a file or a folder could not be read, written or moved.
package struct FileFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// What was tried, as in "write" or "flush".
    package let action: String
    package let path: String
    /// The system's number, as `ENOSPC`.
    package let errorNumber: Int32

    package init(_ action: String, _ path: String, _ errorNumber: Int32) {
        self.action = action
        self.path = path
        self.errorNumber = errorNumber
    }

    /// The disk, the user's quota or the longest file there may be is used up.
    package var isDiskFull: Bool { [ENOSPC, EDQUOT, EFBIG].contains(errorNumber) }

    /// This user may not, or nobody may because the disk is read-only.
    package var isNotPermitted: Bool { [EACCES, EPERM, EROFS].contains(errorNumber) }

    /// The system's own words.
    package var systemReason: String { String(cString: strerror(errorNumber)) }

    package var description: String { "cannot \(action) \(path) (\(systemReason))" }
}
