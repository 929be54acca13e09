import Foundation
import HostTestSupport
import StoreModel
import Testing
import ZipExtraction

@testable import InAppStore

/// Real disks that are full or read-only. If none can be mounted, `CrashLoop devices` covers other failing disks.
@Suite(.enabled(if: TinyDisk.isAvailable, "only root can mount a small disk"), .timeLimit(.minutes(2)))
struct FullDiskTests {
    private func onDisk(of bytes: Int, _ body: (ContentScene, TinyDisk, ContentLibrary) async throws -> Void)
        async throws
    {
        try await ContentScene.run { scene in
            let disk = try TinyDisk(at: scene.folder + "/disk", bytes: bytes)
            defer { disk.remove() }
            let library = ContentLibrary(
                folder: disk.path + "/kept", fetchers: [scene.fetcher(), LocalContentFetcher()],
                extractor: ZipExtractor())
            _ = try await library.fetch("film", parameters: ContentScene.local(try scene.makeFolder(["a": "1"]))).all()
            try await body(scene, disk, library)
            await library.close()
        }
    }

    private func expect(
        _ code: PurchaseError.Code, _ scene: ContentScene, _ library: ContentLibrary,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async {
        let error = await #expect(throws: PurchaseError(code, ""), sourceLocation: sourceLocation) {
            try await library.fetch("film", parameters: scene.parameters()).all()
        }
        let words = code == .diskFull ? "No space left" : "Read-only"
        #expect(error?.reason.contains(words) == true, "\(error as Any)", sourceLocation: sourceLocation)
        let kept = ContentScene.files(library.location(of: "film"))
        #expect(kept == ["a": [49]], sourceLocation: sourceLocation)
    }

    @Test func `a disk that fills up during a download or extraction is reported, and the fetch continues later`()
        async throws
    {
        try await onDisk(of: 200 << 10) { scene, disk, library in
            await expect(.diskFull, scene, library)
            try disk.resize(to: 450 << 10)
            await expect(.diskFull, scene, library)
            let asked = scene.requests.all
            #expect(
                asked.contains { $0["Range"].map { !$0.hasPrefix("bytes=0-") } ?? false },
                "The download must be resumed.")
            try disk.resize(to: 2 << 20)
            _ = try await library.fetch("film", parameters: scene.parameters()).all()
            #expect(ContentScene.isFilm(library.location(of: "film")))
            #expect(scene.requests.all.count == asked.count, "The archive must not be downloaded again.")
        }
    }

    @Test func `a read-only disk is reported, and its content can be used`() async throws {
        try await onDisk(of: 2 << 20) { scene, disk, library in
            try disk.makeReadOnly()
            await expect(.notPermitted, scene, library)
            #expect(scene.requests.all.isEmpty, "Nothing must be downloaded to a read-only disk.")
        }
    }
}
