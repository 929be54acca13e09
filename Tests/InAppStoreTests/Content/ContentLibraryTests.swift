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
    /// Waits for the gate after it has reported some bytes.
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

    @Test func `many callers share one fetch, and all hear its progress`() async throws {
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
            #expect(try await library.fetch("film", parameters: ["type": "Held"]).all().count == 1, "there already")
            #expect(fetcher.begun.all == [true])
            await library.close()
        }
    }

    @Test func `a caller that leaves does not stop the fetch, and the last one does`() async throws {
        try await ContentScene.run { scene in
            let (library, fetcher) = try held(scene)
            let streams = (0..<2).map { _ in library.fetch("film", parameters: ["type": "Held"]) }
            let listeners = streams.map { stream in Task { try await stream.all() } }
            await fetcher.begun.wait { !$0.isEmpty }
            listeners[0].cancel()
            _ = await listeners[0].result
            #expect(fetcher.begun.all == [true], "the other still listens")
            listeners[1].cancel()
            await fetcher.begun.wait { $0 == [true, false] }
            fetcher.gate.open()
            let reported = try await library.fetch("film", parameters: ["type": "Held"]).all()
            #expect(reported.last?.isComplete == true && fetcher.begun.all == [true, false, true])
            await library.close()
        }
    }

    @Test func `the last to leave a download keeps the part`() async throws {
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

    @Test func `closing ends waiting callers, and nothing begins afterwards`() async throws {
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

    @Test func `what is on the device is known in the next run, told when it changes, and removed whole`() async throws
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
            #expect(inside.count == 2, "nothing stands outside the folder, and nothing is left in it")
        }
    }

    @Test func `new parameters fetch anew, and the old content stays until then`() async throws {
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

    @Test func `content that somebody else removed is fetched again`() async throws {
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

    @Test func `deleting ends a fetch under way and removes what it received`() async throws {
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
            #expect(again == (reported == .contentExtractionFailed), "only what cannot be unpacked is fetched twice")
            await next.close()
        }
    }

    @Test func `an archive that leads out of its folder is refused, and what was there stays`() async throws {
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

    @Test func `a folder with anything but files and folders is refused`() async throws {
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

    @Test func `a place that cannot be a folder is reported, and nothing is downloaded`() async throws {
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

    @Test func `archives that nothing could unpack are not downloaded, and other ways to the content are tried`()
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

    @Test func `an archive that another fetcher brought waits for the day it can be unpacked`() async throws {
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
