import Foundation
import Primitives

/// Unpacks the content of a product, which comes as an archive from wherever the app keeps it.
///
/// The archive is an attacker's until proven otherwise: an extractor writes nothing outside the folder, whatever the
/// archive says, and nothing in it that is not a plain file or a folder. `ZipExtraction.ZipExtractor` is the one over
/// libarchive, `ZipArchives.SystemZipExtractor` the one of Apple's systems.
public protocol ArchiveExtractor: Sendable {
    /// Makes `folder` hold what `archive` holds and nothing else, in one step: until everything is extracted, checked and
    /// on the disk, the old content stays, and it stays when anything fails. The folder above must be there, and be this
    /// user's.
    ///
    /// Throws `ExtractionError`, and `CancellationError` when the task is cancelled; nothing is left behind then.
    /// `progress` is called on a thread of the extractor's, in order, first with nothing and at last with everything
    /// written.
    func extract(
        _ archive: String, into folder: String, limits: ExtractionLimits,
        progress: @escaping @Sendable (ExtractionProgress) -> Void
    ) async throws
}

extension ArchiveExtractor {
    public func extract(_ archive: String, into folder: String, limits: ExtractionLimits = ExtractionLimits())
        async throws
    {
        try await extract(archive, into: folder, limits: limits) { _ in }
    }
}

/// How far an extraction has come, in bytes of the extracted files.
public struct ExtractionProgress: Hashable, Sendable {
    public var written: Int
    public var total: Int

    public init(written: Int, total: Int) {
        self.written = written
        self.total = total
    }
}

/// What an archive may be at most; one that is more is refused with `limitExceeded` before anything is written.
public struct ExtractionLimits: Hashable, Sendable {
    /// Files and folders that the archive names.
    public var entries: Int
    /// Bytes of all extracted files together.
    public var totalBytes: Int
    /// How many times its compressed size a file may have, and all files together that of the archive; the first
    /// mebibyte of each is free. Deflate reaches 1032 with zeros, and 3 to 20 with what people make.
    public var ratio: Int
    /// Folders within folders, the file itself included.
    public var depth: Int
    /// UTF-8 bytes of a name with its folders. No part of it may have more than 255.
    public var nameBytes: Int

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

/// Why an archive was not extracted. Compares by `code`.
public struct ExtractionError: Error, Equatable, Sendable, CustomStringConvertible, LocalizedError {
    /// The kind of failure; an open set.
    public typealias Code = OpenEnum<ExtractionError>

    public let code: Code
    /// A sentence that says what is wrong and what to do.
    public let reason: String
    /// The entry it is about, as the archive names it, made fit to print.
    public let entry: String?
    public let underlying: (any Error)?

    public init(_ code: Code, _ reason: String, entry: String? = nil, underlying: (any Error)? = nil) {
        self.code = code
        self.reason = reason
        self.entry = entry
        self.underlying = underlying
    }

    /// A failure of the disk, told as a full one or a missing permission where it is that.
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

    public static func == (one: ExtractionError, other: ExtractionError) -> Bool { one.code == other.code }
}

extension ExtractionError.Code {
    /// No archive of a format this extractor reads.
    public static var unsupportedFormat: Self { Self(rawValue: "unsupportedFormat") }
    /// The format is right, and the archive uses something of it that is not supported, such as a rare compression.
    public static var unsupportedFeature: Self { Self(rawValue: "unsupportedFeature") }
    /// The archive needs a password.
    public static var encrypted: Self { Self(rawValue: "encrypted") }
    /// Cut off, changed on the way, or contradicting itself; fetching it again may help.
    public static var corrupt: Self { Self(rawValue: "corrupt") }
    /// A name that leads out of the folder, or that not every file system has.
    public static var unsafeName: Self { Self(rawValue: "unsafeName") }
    /// A link, a device or whatever else is neither file nor folder.
    public static var unsafeKind: Self { Self(rawValue: "unsafeKind") }
    /// Two entries that are one file somewhere: the same name, or the same but for case or Unicode's forms.
    public static var conflictingNames: Self { Self(rawValue: "conflictingNames") }
    /// More than the limits allow.
    public static var limitExceeded: Self { Self(rawValue: "limitExceeded") }
    /// There is no room for the content; freeing some helps.
    public static var diskFull: Self { Self(rawValue: "diskFull") }
    /// This user may not write there, or not read the archive.
    public static var notPermitted: Self { Self(rawValue: "notPermitted") }
    /// Another failure of the disk, or of a path.
    public static var fileFailed: Self { Self(rawValue: "fileFailed") }
}
