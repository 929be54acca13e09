import Foundation

/// An error of the system when a file or folder is read, written or moved.
package struct FileFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The verb of the failed operation, such as "write" or "flush".
    package let action: String
    package let path: String
    /// The error number of the system, such as `ENOSPC`.
    package let errorNumber: Int32

    package init(_ action: String, _ path: String, _ errorNumber: Int32) {
        self.action = action
        self.path = path
        self.errorNumber = errorNumber
    }

    /// Whether the disk or the user's quota is full, or the file has reached the maximum length.
    package var isDiskFull: Bool { [ENOSPC, EDQUOT, EFBIG].contains(errorNumber) }

    /// Whether this user has no permission, or the disk is read-only.
    package var isNotPermitted: Bool { [EACCES, EPERM, EROFS].contains(errorNumber) }

    /// The system's description of the error.
    package var systemReason: String { String(cString: strerror(errorNumber)) }

    package var description: String { "cannot \(action) \(path) (\(systemReason))" }
}
