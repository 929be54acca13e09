import BaseTestSupport
import Foundation
import Primitives
import StoreModel
import Testing
import ZipExtraction

@testable import InAppStore

/// The state that a killed process leaves for the next one. `CrashLoop` kills a real process.
@Suite(.timeLimit(.minutes(2)))
struct ContentKillTests {
    @Test func `a process killed at any step leaves the old or the new content, and the next process finishes`()
        async throws
    {
        try await ContentScene.run { scene in
            let old = try scene.makeFolder(["a": "1"])
            let images = CallLog<String>()
            // Copies the state that a kill at this moment would leave.
            let takeImage: @Sendable () -> Void = {
                let image = "\(scene.folder)/image-\(images.all.count)"
                try? FileManager.default.copyItem(atPath: scene.kept, toPath: image)
                images.record(image)
            }
            let fetcher = WatchedFetcher(fetcher: scene.fetcher(), step: takeImage)
            let library = ContentLibrary(
                folder: scene.kept, fetchers: [fetcher, LocalContentFetcher()],
                extractor: WatchedExtractor(step: takeImage))
            _ = try await library.fetch("film", parameters: ContentScene.local(old)).all()
            _ = try await library.fetch("film", parameters: scene.parameters()).all()
            await library.close()
            takeImage()
            #expect(images.all.count > 10)
            var wereOld: [Bool] = []
            for image in images.all {
                let next = ContentLibrary(
                    folder: image, fetchers: [scene.fetcher(), LocalContentFetcher()], extractor: ZipExtractor())
                let place = try #require(next.location(of: "film"), "The content is missing in \(image).")
                let isOld = ContentScene.files(place) == ["a": [49]]
                #expect(isOld || ContentScene.isFilm(place), "The content in \(image) is incomplete.")
                wereOld.append(isOld)
                let reported = try await next.fetch("film", parameters: scene.parameters()).all()
                #expect(ContentScene.isFilm(reported.last?.location))
                let left = try FileManager.default.contentsOfDirectory(atPath: place + "/..")
                #expect(Set(left) == ["content", "record.json"], "\(image)")
                await next.close()
            }
            #expect(wereOld.contains(true) && wereOld.contains(false))
        }
    }
}

/// Calls `step` at each step of a download.
struct WatchedFetcher: ContentFetcher {
    let fetcher: RemoteContentFetcher
    let step: @Sendable () -> Void
    var types: Set<String> { fetcher.types }
    func check(_ parameters: JSONObject) throws { try fetcher.check(parameters) }

    func fetch(
        _ order: ContentOrder, progress: @escaping @Sendable (ContentProgress) -> Void
    ) async throws -> FetchedContent {
        step()
        return try await fetcher.fetch(order) { reported in
            progress(reported)
            step()
        }
    }
}

/// Calls `step` during and after the extraction of an archive.
private struct WatchedExtractor: ArchiveExtractor {
    let step: @Sendable () -> Void

    func extract(
        _ archive: String, into folder: String, limits: ExtractionLimits,
        progress: @escaping @Sendable (ExtractionProgress) -> Void
    ) async throws {
        try await ZipExtractor().extract(archive, into: folder, limits: limits) { reported in
            progress(reported)
            step()
        }
        step()
    }
}
