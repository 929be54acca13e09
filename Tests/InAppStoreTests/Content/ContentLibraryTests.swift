import BaseTestSupport
import Foundation
import HTTPCore
import HostTestSupport
import Primitives
import StoreModel
import Testing
import ZipExtraction

@testable import InAppStore

@Suite(.timeLimit(.minutes(2)))
struct ContentLibraryTests {
    /// A fetcher that reports some bytes and then waits for a gate.
    private struct HeldFetcher: ContentFetcher {
        let types: Set<String> = ["Held"]
        let gate: Gate
        let begun: CallLog<Bool>
        let folder: String

        func check(_ parameters: JSONObject) throws {}

        func fetch(
            _ order: ContentOrder, progress: @escaping @Sendable (ContentProgress) -> Void
        ) async throws -> FetchedContent {
            progress(ContentProgress(received: 3, total: 10))
            begun.record(true)
            do {
                try await gate.pass()
            } catch {
                begun.record(false)
                throw error
            }
            progress(ContentProgress(received: 10, total: 10))
            return .folder(path: folder)
        }
    }

    private func held(_ scene: ContentScene) throws -> (ContentLibrary, HeldFetcher) {
        let source = try scene.makeFolder(["look": "noir"])
        let fetcher = HeldFetcher(gate: Gate(), begun: CallLog(), folder: source)
        return (scene.library([fetcher]), fetcher)
    }

    // MARK: - Concurrent callers

    @Test func `concurrent callers share one fetch, and all receive its progress`() async throws {
        try await ContentScene.run { scene in
            let (library, fetcher) = try held(scene)
            let early = library.fetch("film", parameters: ["type": "Held"])
            await fetcher.begun.wait { !$0.isEmpty }
            let late = library.fetch("film", parameters: ["type": "Held"])
            fetcher.gate.open()
            for stream in [early, late] {
                let reported = try await stream.all()
                #expect(reported.map(\.received) == [3, 10, 10])
                #expect(reported.last?.location == library.location(of: "film"))
            }
            #expect(fetcher.begun.all == [true])
            #expect(
                try await library.fetch("film", parameters: ["type": "Held"]).all().count == 1,
                "Existing content must not be fetched.")
            #expect(fetcher.begun.all == [true])
            await library.close()
        }
    }

    @Test func `a fetch ends only when its last caller is cancelled`() async throws {
        try await ContentScene.run { scene in
            let (library, fetcher) = try held(scene)
            let streams = (0..<2).map { _ in library.fetch("film", parameters: ["type": "Held"]) }
            let listeners = streams.map { stream in Task { try await stream.all() } }
            await fetcher.begun.wait { !$0.isEmpty }
            listeners[0].cancel()
            _ = await listeners[0].result
            #expect(fetcher.begun.all == [true], "The fetch must continue for the other caller.")
            listeners[1].cancel()
            await fetcher.begun.wait { $0 == [true, false] }
            fetcher.gate.open()
            let reported = try await library.fetch("film", parameters: ["type": "Held"]).all()
            #expect(reported.last?.isComplete == true && fetcher.begun.all == [true, false, true])
            await library.close()
        }
    }

    @Test func `a download that its last caller leaves is resumed later`() async throws {
        try await ContentScene.run { scene in
            let silence = Gate()
            scene.next({ request, content in
                var answer = await content.respond(to: request).response()
                let length = answer.body.length
                let bytes = (try? await answer.body.collect(upTo: 1 << 24)) ?? []
                let rest = Locked([Array(bytes.prefix(5000))][...])
                answer.body = .stream(
                    HTTPBodyStream(length: length) {
                        if let chunk = rest.withLock({ $0.popFirst() }) { return chunk }
                        try await silence.pass()
                        throw HTTPError(.bodyFailed, "Cut.")
                    })
                return answer
            })
            let library = scene.library()
            for try await progress in library.fetch("film", parameters: scene.parameters())
            where progress.received == 5000 { break }
            let reported = try await library.fetch("film", parameters: scene.parameters()).all()
            silence.open()
            #expect(scene.requests.all[1]["Range"]?.hasPrefix("bytes=5000-") == true)
            #expect(ContentScene.isFilm(reported.last?.location))
            await library.close()
        }
    }

    @Test func `closing cancels waiting callers, and no fetch begins afterwards`() async throws {
        try await ContentScene.run { scene in
            let (library, fetcher) = try held(scene)
            let stream = library.fetch("film", parameters: ["type": "Held"])
            await fetcher.begun.wait { !$0.isEmpty }
            await library.close()
            await #expect(throws: PurchaseError(.operationCancelled, "")) { try await stream.all() }
            await #expect(throws: PurchaseError(.operationCancelled, "")) {
                try await library.fetch("film", parameters: ["type": "Held"]).all()
            }
            #expect(fetcher.begun.all == [true, false])
        }
    }

    // MARK: - Stored content

    @Test func `stored content is known in the next run, reported after changes, and deleted completely`() async throws
    {
        try await ContentScene.run { scene in
            let library = scene.library()
            var changes = library.changes.makeAsyncIterator()
            #expect(await changes.next() == [])
            let source = try scene.makeFolder(["a": "1", "b/c": "2"])
            for id in ["com.Example.film", "com.example.film", "../odd/%41 id"] as [ProductID] {
                _ = try await library.fetch(id, parameters: ContentScene.local(source)).all()
            }
            let all: Set<ProductID> = ["com.Example.film", "com.example.film", "../odd/%41 id"]
            #expect(library.downloaded == all && Set(all.map { library.location(of: $0) }).count == 3)
            #expect(await changes.next() == ["com.Example.film"])
            await library.close()
            let next = scene.library()
            #expect(next.downloaded == all)
            #expect(ContentScene.files(next.location(of: "../odd/%41 id")) == ["a": [49], "b/c": [50]])
            #expect(try await next.fetch("com.example.film", parameters: ContentScene.local(source)).all().count == 1)
            try await next.delete("com.example.film")
            try await next.delete("com.example.film")
            #expect(next.location(of: "com.example.film") == nil && next.downloaded.count == 2)
            await next.close()
            #expect(scene.library().downloaded.count == 2)
            let inside = try FileManager.default.contentsOfDirectory(atPath: scene.kept)
            #expect(inside.count == 2, "The folder must contain only the two remaining products.")
        }
    }

    @Test func `new parameters cause a new fetch, and the old content stays if that fetch fails`() async throws {
        try await ContentScene.run { scene in
            let library = scene.library()
            let (one, two) = (try scene.makeFolder(["a": "1"]), try scene.makeFolder(["a": "2"], named: "two"))
            let place = try await library.fetch("film", parameters: ContentScene.local(one)).all().last?.location
            await #expect(throws: PurchaseError(.contentFetchFailed, "")) {
                try await library.fetch("film", parameters: ContentScene.local(scene.folder + "/none")).all()
            }
            #expect(library.location(of: "film") == place && ContentScene.files(place) == ["a": [49]])
            #expect(try await library.fetch("film", parameters: ContentScene.local(two)).all().last?.location == place)
            #expect(ContentScene.files(place) == ["a": [50]])
            await library.close()
        }
    }

    @Test func `content that was removed from the disk is fetched again`() async throws {
        try await ContentScene.run { scene in
            let library = scene.library()
            let source = try scene.makeFolder(["a": "1"])
            let place = try #require(
                try await library.fetch("film", parameters: ContentScene.local(source)).all().last?.location)
            try FileManager.default.removeItem(atPath: place)
            #expect(library.location(of: "film") == nil)
            _ = try await library.fetch("film", parameters: ContentScene.local(source)).all()
            #expect(ContentScene.files(library.location(of: "film")) == ["a": [49]])
            await library.close()
        }
    }

    @Test func `a deletion cancels a running fetch and removes its files`() async throws {
        try await ContentScene.run { scene in
            let (library, fetcher) = try held(scene)
            let stream = library.fetch("film", parameters: ["type": "Held"])
            await fetcher.begun.wait { !$0.isEmpty }
            try await library.delete("film")
            await #expect(throws: PurchaseError(.operationCancelled, "")) { try await stream.all() }
            #expect(try FileManager.default.contentsOfDirectory(atPath: scene.kept) == [])
            await library.close()
        }
    }

    // MARK: - Failures

    @Test(arguments: [
        (ExtractionError.Code.diskFull, PurchaseError.Code.diskFull), (.notPermitted, .notPermitted),
        (.corrupt, .contentExtractionFailed), (.limitExceeded, .contentExtractionFailed),
    ])
    func `a failure to unpack is reported with its code, and the old content stays`(
        code: ExtractionError.Code, reported: PurchaseError.Code
    ) async throws {
        struct Failing: ArchiveExtractor {
            let code: ExtractionError.Code
            func extract(
                _ archive: String, into folder: String, limits: ExtractionLimits,
                progress: @escaping @Sendable (ExtractionProgress) -> Void
            ) async throws { throw ExtractionError(code, "It did not work.") }
        }
        try await ContentScene.run { scene in
            let library = scene.library(extractor: Failing(code: code))
            _ = try await library.fetch("film", parameters: ContentScene.local(try scene.makeFolder(["a": "1"]))).all()
            await #expect(throws: PurchaseError(reported, "")) {
                try await library.fetch("film", parameters: scene.parameters()).all()
            }
            #expect(ContentScene.files(library.location(of: "film")) == ["a": [49]])
            await library.close()
            let asked = scene.requests.all.count
            let next = scene.library()
            _ = try await next.fetch("film", parameters: scene.parameters()).all()
            #expect(ContentScene.isFilm(next.location(of: "film")))
            let again = scene.requests.all.count > asked
            #expect(
                again == (reported == .contentExtractionFailed), "Only an invalid archive must be downloaded again.")
            await next.close()
        }
    }

    @Test func `an archive with a path outside its folder is refused, and the old content stays`() async throws {
        try await ContentScene.run { scene in
            let library = scene.library()
            _ = try await library.fetch("film", parameters: ContentScene.local(try scene.makeFolder(["a": "1"]))).all()
            try scene.serve(storedZip(["../../escaped": [1]]))
            await #expect(throws: PurchaseError(.contentExtractionFailed, "")) {
                try await library.fetch("film", parameters: scene.parameters()).all()
            }
            #expect(ContentScene.files(library.location(of: "film")) == ["a": [49]])
            #expect(!ContentScene.files(scene.folder).keys.contains { $0.hasSuffix("escaped") })
            await library.close()
        }
    }

    @Test func `a folder with a symbolic link is refused`() async throws {
        try await ContentScene.run { scene in
            let library = scene.library()
            let source = try scene.makeFolder(["a": "1"])
            try FileManager.default.createSymbolicLink(
                atPath: source + "/link", withDestinationPath: "/etc/passwd")
            await #expect(throws: PurchaseError(.contentExtractionFailed, "")) {
                try await library.fetch("film", parameters: ContentScene.local(source)).all()
            }
            #expect(library.downloaded == [])
            await library.close()
        }
    }

    @Test func `a library path that is a file is reported, and nothing is downloaded`() async throws {
        try await ContentScene.run { scene in
            try Data("in the way".utf8).write(to: URL(fileURLWithPath: scene.kept))
            let library = scene.library()
            #expect(library.downloaded == [])
            await #expect(throws: PurchaseError(.storageFailed, "")) {
                try await library.fetch("film", parameters: scene.parameters()).all()
            }
            #expect(scene.requests.all.isEmpty)
            await library.close()
        }
    }

    @Test func `without an extractor archives are not downloaded, and other fetchers are tried`()
        async throws
    {
        try await ContentScene.run { scene in
            let library = scene.library(extractor: nil)
            let remote = JSONValue.object(scene.parameters())
            let fallback: JSONObject = ["type": "FallbackContentFetcher", "fetchersParameters": [remote, remote]]
            for parameters in [scene.parameters(), fallback] {
                await #expect(throws: PurchaseError(.unsupported, "")) {
                    try await library.fetch("film", parameters: parameters).all()
                }
            }
            let other = JSONValue.object(ContentScene.local(try scene.makeFolder(["a": "1"])))
            _ = try await library.fetch(
                "film", parameters: fallback.merging(["fetchersParameters": [remote, other]]) { $1 }
            ).all()
            #expect(ContentScene.files(library.location(of: "film")) == ["a": [49]])
            #expect(scene.requests.all.isEmpty)
            await library.close()
        }
    }

    @Test func `an archive from another fetcher is kept until it can be unpacked`() async throws {
        try await ContentScene.run { scene in
            let fetchers: [any ContentFetcher] = [WatchedFetcher(fetcher: scene.fetcher(), step: {})]
            let library = scene.library(fetchers, extractor: nil)
            await #expect(throws: PurchaseError(.unsupported, "")) {
                try await library.fetch("film", parameters: scene.parameters()).all()
            }
            await library.close()
            let (asked, next) = (scene.requests.all.count, scene.library(fetchers))
            _ = try await next.fetch("film", parameters: scene.parameters()).all()
            #expect(ContentScene.isFilm(next.location(of: "film")) && scene.requests.all.count == asked && asked > 0)
            await next.close()
        }
    }

    @Test func `failures of the disk are reported with their codes`() {
        for (number, code) in [
            (ENOSPC, PurchaseError.Code.diskFull), (EDQUOT, .diskFull), (EACCES, .notPermitted), (EROFS, .notPermitted),
            (EIO, .storageFailed),
        ] {
            #expect(PurchaseError(fetching: "film", FileFailure("write", "/content", number)).code == code)
        }
    }
}
