import Foundation
import HTTPCore
import Primitives
import StoreModel
import StoreTestSupport
import Testing
import ZipExtraction

@testable import InAppStore

@Suite(.timeLimit(.minutes(2)))
struct ContentLibraryTests {
    /// Waits, once some bytes are told, for the gate.
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
        let source = try folder(scene, ["look": "noir"])
        let fetcher = HeldFetcher(gate: Gate(), begun: CallLog(), folder: source)
        return (scene.library([fetcher]), fetcher)
    }

    /// A folder outside the library with these files.
    private func folder(_ scene: ContentScene, _ files: [String: String], named name: String = "source") throws
        -> String
    {
        let path = "\(scene.folder)/\(name)"
        for (name, text) in files {
            let file = URL(fileURLWithPath: "\(path)/\(name)")
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(text.utf8).write(to: file)
        }
        return path
    }

    private func local(_ path: String, _ more: JSONObject = [:]) -> JSONObject {
        ["type": "BZRLocalContentFetcher", "URL": .string(URL(fileURLWithPath: path).absoluteString)]
            .merging(more) { $1 }
    }

    // MARK: - Many callers

    @Test func `many callers share one fetch, and all hear its progress`() async throws {
        try await ContentScene.run { scene in
            let (library, fetcher) = try held(scene)
            let early = library.fetch("film", parameters: ["type": "Held"])
            await fetcher.begun.wait { !$0.isEmpty }
            let late = library.fetch("film", parameters: ["type": "Held"])
            fetcher.gate.open()
            for stream in [early, late] {
                let told = try await stream.all()
                #expect(told.map(\.received) == [3, 10, 10])
                #expect(told.last?.location == library.location(of: "film"))
            }
            #expect(fetcher.begun.all == [true])
            #expect(try await library.fetch("film", parameters: ["type": "Held"]).all().count == 1, "there already")
            #expect(fetcher.begun.all == [true])
            await library.close()
        }
    }

    @Test func `who leaves stops it for nobody else, and the last stops it`() async throws {
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
            let told = try await library.fetch("film", parameters: ["type": "Held"]).all()
            #expect(told.last?.isComplete == true && fetcher.begun.all == [true, false, true])
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
            let told = try await library.fetch("film", parameters: scene.parameters()).all()
            silence.open()
            #expect(scene.requests.all[1]["Range"]?.hasPrefix("bytes=5000-") == true)
            #expect(ContentScene.isFilm(told.last?.location))
            await library.close()
        }
    }

    @Test func `closing ends whoever waits, and nothing begins afterwards`() async throws {
        try await ContentScene.run { scene in
            let (library, fetcher) = try held(scene)
            let stream = library.fetch("film", parameters: ["type": "Held"])
            await fetcher.begun.wait { !$0.isEmpty }
            await library.close()
            await #expect(throws: StoreError(.operationCancelled, "")) { try await stream.all() }
            await #expect(throws: StoreError(.operationCancelled, "")) {
                try await library.fetch("film", parameters: ["type": "Held"]).all()
            }
            #expect(fetcher.begun.all == [true, false])
        }
    }

    // MARK: - What is there

    @Test func `what is on the device is known in the next run, told when it changes, and removed whole`() async throws
    {
        try await ContentScene.run { scene in
            let library = scene.library()
            var changes = library.changes.makeAsyncIterator()
            #expect(await changes.next() == [])
            let source = try folder(scene, ["a": "1", "b/c": "2"])
            for id in ["com.Example.film", "com.example.film", "../odd/%41 id"] as [ProductID] {
                _ = try await library.fetch(id, parameters: local(source)).all()
            }
            let all: Set<ProductID> = ["com.Example.film", "com.example.film", "../odd/%41 id"]
            #expect(library.downloaded == all && Set(all.map { library.location(of: $0) }).count == 3)
            #expect(await changes.next() == ["com.Example.film"])
            await library.close()
            let next = scene.library()
            #expect(next.downloaded == all)
            #expect(ContentScene.files(next.location(of: "../odd/%41 id")) == ["a": [49], "b/c": [50]])
            #expect(try await next.fetch("com.example.film", parameters: local(source)).all().count == 1)
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
            let (one, two) = (try folder(scene, ["a": "1"]), try folder(scene, ["a": "2"], named: "two"))
            let place = try await library.fetch("film", parameters: local(one)).all().last?.location
            await #expect(throws: StoreError(.contentFetchFailed, "")) {
                try await library.fetch("film", parameters: local(scene.folder + "/none")).all()
            }
            #expect(library.location(of: "film") == place && ContentScene.files(place) == ["a": [49]])
            #expect(try await library.fetch("film", parameters: local(two)).all().last?.location == place)
            #expect(ContentScene.files(place) == ["a": [50]])
            await library.close()
        }
    }

    @Test func `content that somebody else removed is fetched again`() async throws {
        try await ContentScene.run { scene in
            let library = scene.library()
            let source = try folder(scene, ["a": "1"])
            let place = try #require(try await library.fetch("film", parameters: local(source)).all().last?.location)
            try FileManager.default.removeItem(atPath: place)
            #expect(library.location(of: "film") == nil)
            _ = try await library.fetch("film", parameters: local(source)).all()
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
            await #expect(throws: StoreError(.operationCancelled, "")) { try await stream.all() }
            #expect(try FileManager.default.contentsOfDirectory(atPath: scene.kept) == [])
            await library.close()
        }
    }

    // MARK: - What goes wrong

    @Test(arguments: [
        (ExtractionError.Code.diskFull, StoreError.Code.diskFull), (.notPermitted, .notPermitted),
        (.corrupt, .contentExtractionFailed), (.limitExceeded, .contentExtractionFailed),
    ])
    func `a failure to unpack is told as what it is, and the old content stays`(
        code: ExtractionError.Code, told: StoreError.Code
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
            _ = try await library.fetch("film", parameters: local(try folder(scene, ["a": "1"]))).all()
            await #expect(throws: StoreError(told, "")) {
                try await library.fetch("film", parameters: scene.parameters()).all()
            }
            #expect(ContentScene.files(library.location(of: "film")) == ["a": [49]])
            await library.close()
            let asked = scene.requests.all.count
            let next = scene.library()
            _ = try await next.fetch("film", parameters: scene.parameters()).all()
            #expect(ContentScene.isFilm(next.location(of: "film")))
            let again = scene.requests.all.count > asked
            #expect(again == (told == .contentExtractionFailed), "only what cannot be unpacked is fetched twice")
            await next.close()
        }
    }

    @Test func `an archive that leads out of its folder is refused, and what was there stays`() async throws {
        try await ContentScene.run { scene in
            let library = scene.library()
            _ = try await library.fetch("film", parameters: local(try folder(scene, ["a": "1"]))).all()
            try scene.serve(storedZip(["../../escaped": [1]]))
            await #expect(throws: StoreError(.contentExtractionFailed, "")) {
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
            let source = try folder(scene, ["a": "1"])
            try FileManager.default.createSymbolicLink(
                atPath: source + "/link", withDestinationPath: "/etc/passwd")
            await #expect(throws: StoreError(.contentExtractionFailed, "")) {
                try await library.fetch("film", parameters: local(source)).all()
            }
            #expect(library.downloaded == [])
            await library.close()
        }
    }

    @Test func `a place that cannot be a folder is told, and nothing is downloaded`() async throws {
        try await ContentScene.run { scene in
            try Data("in the way".utf8).write(to: URL(fileURLWithPath: scene.kept))
            let library = scene.library()
            #expect(library.downloaded == [])
            await #expect(throws: StoreError(.storageFailed, "")) {
                try await library.fetch("film", parameters: scene.parameters()).all()
            }
            #expect(scene.requests.all.isEmpty)
            await library.close()
        }
    }

    @Test func `archives without an extractor are unsupported, and kept for the day there is one`() async throws {
        try await ContentScene.run { scene in
            let library = scene.library(extractor: nil)
            await #expect(throws: StoreError(.unsupported, "")) {
                try await library.fetch("film", parameters: scene.parameters()).all()
            }
            await library.close()
            let (asked, next) = (scene.requests.all.count, scene.library())
            _ = try await next.fetch("film", parameters: scene.parameters()).all()
            #expect(ContentScene.isFilm(next.location(of: "film")) && scene.requests.all.count == asked)
            await next.close()
        }
    }

    @Test func `failures of the disk are told as what they are`() {
        for (number, code) in [
            (ENOSPC, StoreError.Code.diskFull), (EDQUOT, .diskFull), (EACCES, .notPermitted), (EROFS, .notPermitted),
            (EIO, .storageFailed),
        ] {
            #expect(StoreError(fetching: "film", FileFailure("write", "/content", number)).code == code)
        }
    }

    // MARK: - A process that is killed

    @Test func `a process killed at any step leaves the old content or the new, and the next one finishes`()
        async throws
    {
        try await ContentScene.run { scene in
            let old = try folder(scene, ["a": "1"])
            let images = CallLog<String>()
            // What a kill at this moment would leave behind.
            let takeImage: @Sendable () -> Void = {
                let image = "\(scene.folder)/image-\(images.all.count)"
                try? FileManager.default.copyItem(atPath: scene.kept, toPath: image)
                images.record(image)
            }
            let fetcher = Watched(fetcher: scene.fetcher(), step: takeImage)
            let library = ContentLibrary(
                folder: scene.kept, fetchers: [fetcher, LocalContentFetcher()],
                extractor: WatchedExtractor(step: takeImage))
            _ = try await library.fetch("film", parameters: local(old)).all()
            _ = try await library.fetch("film", parameters: scene.parameters()).all()
            await library.close()
            takeImage()
            #expect(images.all.count > 10)
            var wereOld: [Bool] = []
            for image in images.all {
                let next = ContentLibrary(
                    folder: image, fetchers: [scene.fetcher(), LocalContentFetcher()], extractor: ZipExtractor())
                let place = try #require(next.location(of: "film"), "content is missing in \(image)")
                let isOld = ContentScene.files(place) == ["a": [49]]
                #expect(isOld || ContentScene.isFilm(place), "half of it in \(image)")
                wereOld.append(isOld)
                let told = try await next.fetch("film", parameters: scene.parameters()).all()
                #expect(ContentScene.isFilm(told.last?.location))
                let left = try FileManager.default.contentsOfDirectory(atPath: place + "/..")
                #expect(Set(left) == ["content", "record.json"], "\(image)")
                await next.close()
            }
            #expect(wereOld.contains(true) && wereOld.contains(false))
        }
    }

    /// Looks on at each step of a download.
    private struct Watched: ContentFetcher {
        let fetcher: RemoteContentFetcher
        let step: @Sendable () -> Void
        var types: Set<String> { fetcher.types }
        func check(_ parameters: JSONObject) throws { try fetcher.check(parameters) }

        func fetch(
            _ order: ContentOrder, progress: @escaping @Sendable (ContentProgress) -> Void
        ) async throws -> FetchedContent {
            step()
            return try await fetcher.fetch(order) { told in
                progress(told)
                step()
            }
        }
    }

    /// Looks on while an archive is unpacked, and when it is in its place.
    private struct WatchedExtractor: ArchiveExtractor {
        let step: @Sendable () -> Void

        func extract(
            _ archive: String, into folder: String, limits: ExtractionLimits,
            progress: @escaping @Sendable (ExtractionProgress) -> Void
        ) async throws {
            try await ZipExtractor().extract(archive, into: folder, limits: limits) { told in
                progress(told)
                step()
            }
            step()
        }
    }
}
