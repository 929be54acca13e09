import Foundation
import Primitives

/// Extracts the content of a product from an archive.
///
/// The archive is not trusted: an extractor writes only plain files and folders, and nothing outside the folder.
/// `ZipExtraction.ZipExtractor` implements it over libarchive, `ZipArchives.SystemZipExtractor` over the frameworks of
/// Apple's systems.
public protocol ArchiveExtractor: Sendable {
    /// Replaces the content of `folder` by the content of `archive`, in one step.
    ///
    /// The old content remains until the new one is extracted, checked and flushed to the disk. If anything fails, the
    /// old content stays, and partial results are removed.
    ///
    /// - Parameters:
    ///   - archive: The path of the archive.
    ///   - folder: The path of the folder. Its parent folder must exist and belong to this user.
    ///   - limits: The limits that the archive must respect.
    ///   - progress: Receives the progress, in order: first with nothing written, at the end with everything written.
    ///     It is called on a thread of the extractor.
    /// - Throws: `ExtractionError`, or `CancellationError` if the task is cancelled.
    func extract(
        _ archive: String, into folder: String, limits: ExtractionLimits,
        progress: @escaping @Sendable (ExtractionProgress) -> Void
    ) async throws
}

extension ArchiveExtractor {
    /// Replaces the content of `folder` by the content of `archive`, without reporting progress.
    ///
    /// - Parameters:
    ///   - archive: The path of the archive.
    ///   - folder: The path of the folder. Its parent folder must exist and belong to this user.
    ///   - limits: The limits that the archive must respect.
    /// - Throws: `ExtractionError`, or `CancellationError` if the task is cancelled.
    public func extract(_ archive: String, into folder: String, limits: ExtractionLimits = ExtractionLimits())
        async throws
    {
        try await extract(archive, into: folder, limits: limits) { _ in }
    }
}

/// The progress of an extraction, in bytes of the extracted files.
public struct ExtractionProgress: Hashable, Sendable {
    /// The bytes that were written so far.
    public var written: Int
    /// The bytes of all files.
    public var total: Int

    /// Creates a progress.
    ///
    /// - Parameters:
    ///   - written: The bytes that were written so far.
    ///   - total: The bytes of all files.
    public init(written: Int, total: Int) {
        self.written = written
        self.total = total
    }
}

/// The limits of an archive. An archive that exceeds one is refused with `limitExceeded` before anything is written.
public struct ExtractionLimits: Hashable, Sendable {
    /// The number of files and folders in the archive.
    public var entries: Int
    /// The size of all extracted files together, in bytes.
    public var totalBytes: Int
    /// The largest ratio of a file's size to its compressed size, and of the size of all files to that of the archive.
    /// Sizes up to a mebibyte are not checked. Deflate reaches 1032 with zeros, and 3 to 20 with usual files.
    public var ratio: Int
    /// The number of parts in a path: its folders and the file itself.
    public var depth: Int
    /// The length of a path in UTF-8 bytes. No component may have more than 255.
    public var nameBytes: Int

    /// Creates limits.
    ///
    /// - Parameters:
    ///   - entries: The number of files and folders in the archive.
    ///   - totalBytes: The size of all extracted files together, in bytes.
    ///   - ratio: The largest ratio of a file's size to its compressed size, and of all files to the archive.
    ///   - depth: The number of parts in a path: its folders and the file itself.
    ///   - nameBytes: The length of a path in UTF-8 bytes.
    public init(
        entries: Int = 20_000, totalBytes: Int = 4 << 30, ratio: Int = 200, depth: Int = 32, nameBytes: Int = 1024
    ) {
        self.entries = entries
        self.totalBytes = totalBytes
        self.ratio = ratio
        self.depth = depth
        self.nameBytes = nameBytes
    }
}

/// An error of an extraction. Two errors are equal if their codes are equal.
public struct ExtractionError: Error, Equatable, Sendable, CustomStringConvertible, LocalizedError {
    /// The kind of failure, from an open set.
    public typealias Code = OpenEnum<ExtractionError>

    /// The kind of failure.
    public let code: Code
    /// A sentence that says what is wrong and what to do.
    public let reason: String
    /// The entry of the archive, in printable form.
    public let entry: String?
    /// The error that caused this one.
    public let underlying: (any Error)?

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - code: The kind of failure.
    ///   - reason: A sentence that says what is wrong and what to do.
    ///   - entry: The entry of the archive, in printable form.
    ///   - underlying: The error that caused this one.
    public init(_ code: Code, _ reason: String, entry: String? = nil, underlying: (any Error)? = nil) {
        self.code = code
        self.reason = reason
        self.entry = entry
        self.underlying = underlying
    }

    /// Creates an error from a failed file operation, with a code of its own for a full disk and for a missing
    /// permission.
    package init(_ failure: FileFailure) {
        let (code, advice): (Code, String) =
            if failure.isDiskFull {
                (.diskFull, "free some space")
            } else if failure.isNotPermitted {
                (.notPermitted, "let this user write there, or choose another folder")
            } else {
                (.fileFailed, "check the path and the disk")
            }
        self.init(code, "The content was not extracted: \(failure); \(advice).", underlying: failure)
    }

    public var description: String { reason }
    public var errorDescription: String? { reason }

    /// Returns whether two errors have the same code.
    public static func == (one: ExtractionError, other: ExtractionError) -> Bool { one.code == other.code }
}

extension ExtractionError.Code {
    /// The archive has a format that the extractor does not read.
    public static var unsupportedFormat: Self { Self(rawValue: "unsupportedFormat") }
    /// The archive uses a feature of its format that is not supported, such as a rare compression.
    public static var unsupportedFeature: Self { Self(rawValue: "unsupportedFeature") }
    /// The archive needs a password.
    public static var encrypted: Self { Self(rawValue: "encrypted") }
    /// The archive is truncated, changed or inconsistent. Fetching it again may help.
    public static var corrupt: Self { Self(rawValue: "corrupt") }
    /// A name leads out of the folder, or is not valid on every file system.
    public static var unsafeName: Self { Self(rawValue: "unsafeName") }
    /// An entry is neither a file nor a folder, for example a link or a device.
    public static var unsafeKind: Self { Self(rawValue: "unsafeKind") }
    /// Two entries would be the same file on some file systems: their names are equal, or differ only in case or in
    /// their Unicode form.
    public static var conflictingNames: Self { Self(rawValue: "conflictingNames") }
    /// The archive exceeds one of the limits.
    public static var limitExceeded: Self { Self(rawValue: "limitExceeded") }
    /// The disk is full. Free some space and try again.
    public static var diskFull: Self { Self(rawValue: "diskFull") }
    /// This user may not write to the folder, or may not read the archive.
    public static var notPermitted: Self { Self(rawValue: "notPermitted") }
    /// Another operation on a file or path failed.
    public static var fileFailed: Self { Self(rawValue: "fileFailed") }
}
