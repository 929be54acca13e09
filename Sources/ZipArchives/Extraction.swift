import Foundation
import Primitives
import StoreModel

/// The cancellation of the calling task, as a flag for a thread that runs no task.
package final class Cancellation: Sendable {
    let flag = OneWayFlag()

    package init() {}

    func check() throws(CancellationError) {
        if flag.isSet { throw CancellationError() }
    }
}

/// The extraction of one archive into a folder, on one thread. `Reader` decompresses the data of its entries.
package struct Extraction<Reader: EntryReader> {
    private let file: ArchiveFile
    private let plan: ExtractionPlan
    private let folder: String
    private let progress: (ExtractionProgress) -> Void
    private let cancellation: Cancellation

    /// Checks the archive.
    package init(
        _ archive: String, into folder: String, limits: ExtractionLimits,
        progress: @escaping (ExtractionProgress) -> Void, cancellation: Cancellation
    ) throws {
        file = try ArchiveFile(archive)
        plan = try ExtractionPlan(file, limits: limits, checkpoint: cancellation.check)
        self.folder = folder
        self.progress = progress
        self.cancellation = cancellation
    }

    /// Checks and extracts an archive, until the calling task is cancelled. Uses a thread of its own, because the work
    /// waits for the disk and must not block the threads that run tasks.
    package static func run(
        _ archive: String, into folder: String, limits: ExtractionLimits,
        progress: @escaping @Sendable (ExtractionProgress) -> Void
    ) async throws {
        let cancellation = Cancellation()
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                Thread.detachNewThread {
                    continuation.resume(
                        with: Result {
                            let extraction = try Extraction(
                                archive, into: folder, limits: limits, progress: progress, cancellation: cancellation)
                            try extraction.run()
                        })
                }
            }
        } onCancel: {
            cancellation.flag.set()
        }
    }

    /// Extracts the archive into a new folder, which then replaces `folder`.
    package func run() throws {
        do {
            let replacement = try FolderReplacement(of: folder)
            try write(into: replacement.path)
            try cancellation.check()
            try replacement.commit()
        } catch let failure as FileFailure {
            throw ExtractionError(failure)
        }
    }

    private func write(into root: String) throws {
        progress(ExtractionProgress(written: 0, total: plan.totalBytes))
        // libarchive rejects an archive without entries.
        if plan.entries.isEmpty { return }
        let reader = try Reader(file)
        var (written, folders) = (0, Set<String>())
        for entry in plan.entries {
            try cancellation.check()
            try reader.advance(to: entry)
            try makeFolders(entry.isFolder ? entry.name.parts[...] : entry.name.parts.dropLast(), in: root, &folders)
            if !entry.isFolder {
                try write(entry, from: reader, to: "\(root)/\(entry.name.path)") { count in
                    written += count
                    progress(ExtractionProgress(written: written, total: plan.totalBytes))
                }
            }
        }
        try reader.finish()
    }

    private func write(_ entry: ZipEntry, from reader: Reader, to path: String, report: (Int) -> Void) throws {
        let output = try DurableFile.create(path, mode: 0o600)
        defer { close(output) }
        var rest = entry.size
        while let block = try reader.nextBlock(of: entry) {
            try cancellation.check()
            if block.isEmpty { continue }
            guard block.count <= rest else {
                throw ExtractionError.corrupt(
                    "\(entry.name.shown) is longer than the archive's directory states; create the archive again.",
                    entry: entry.name.shown)
            }
            rest -= block.count
            try DurableFile.append(block, to: output, path: path)
            report(block.count)
        }
        guard rest == 0 else {
            throw ExtractionError.corrupt(
                "\(entry.name.shown) is shorter than the archive's directory states; create the archive again.",
                entry: entry.name.shown)
        }
    }

    private func makeFolders(
        _ parts: ArraySlice<String>, in root: String, _ made: inout Set<String>
    ) throws(FileFailure) {
        var path = root
        for part in parts {
            path += "/" + part
            guard made.insert(path).inserted else { continue }
            guard mkdir(path, 0o700) == 0 else { throw FileFailure("make the folder", path, errno) }
        }
    }
}
