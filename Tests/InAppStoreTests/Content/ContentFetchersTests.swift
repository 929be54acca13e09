import Foundation
import Primitives
import StoreModel
import StoreTestSupport
import Testing

@testable import InAppStore

@Suite(.timeLimit(.minutes(2)))
struct ContentFetchersTests {
    @Test(
        arguments: [
            ([:], "type"), (["type": ""], "type"), (["type": "BZRRemoteContentFetcher"], "URL"),
            (["type": "RemoteContentFetcher", "URL": 7], "URL"),
            (["type": "RemoteContentFetcher", "URL": "https:///foo/bar.zip"], "URL"),
            (["type": "RemoteContentFetcher", "URL": "http://example.com/a.zip"], "URL"),
            (["type": "RemoteContentFetcher", "URL": "http://127.0.0.1.example.com/a.zip"], "URL"),
            (["type": "RemoteContentFetcher", "URL": "file:///a.zip"], "URL"),
            (["type": "RemoteContentFetcher", "URL": "https://a", "size": -1], "size"),
            (["type": "RemoteContentFetcher", "URL": "https://a", "sha256": "abc"], "sha256"),
            (["type": "LocalContentFetcher", "URL": "https://a"], "URL"),
            (["type": "OnDemandContentFetcher", "tags": [], "checksum": "1"], "tags"),
            (["type": "OnDemandContentFetcher", "tags": ["a"]], "checksum"),
            (["type": "FallbackContentFetcher"], "fetchersParameters"),
            (
                [
                    "type": "FallbackContentFetcher",
                    "fetchersParameters": [["type": "LocalContentFetcher", "URL": "file:///a"], ["URL": "https://a"]],
                ], "fetchersParameters/1/type"
            ),
        ] as [(JSONObject, String)])
    func `parameters that lack what a fetcher needs are refused by the name of the member`(
        parameters: JSONObject, member: String
    ) async throws {
        try await ContentScene.run { scene in
            let resources = Resources(folder: scene.folder)
            let library = scene.library([scene.fetcher(), LocalContentFetcher(), OnDemandContentFetcher(resources)])
            let error = await #expect(throws: StoreError.self) {
                try await library.fetch("film", parameters: parameters).all()
            }
            #expect(error?.code == .invalidContentFetcherParameters)
            #expect(error?.sentence.hasPrefix("\(member): ") == true, "\(error as Any)")
            #expect(!FileManager.default.fileExists(atPath: scene.kept), "nothing was begun")
            await library.close()
        }
    }

    @Test(arguments: ["Carrier", "OnDemandContentFetcher"])
    func `a fetcher that nobody registered is named`(type: String) async throws {
        try await ContentScene.run { scene in
            let library = scene.library()
            let error = await #expect(throws: StoreError.self) {
                try await library.fetch("film", parameters: ["type": .string(type), "tags": ["a"], "checksum": "1"])
                    .all()
            }
            #expect(error?.code == .contentFetcherNotRegistered && error?.sentence.contains(type) == true)
            await library.close()
        }
    }

    @Test func `an archive on the device is compared with its size and digest`() async throws {
        try await ContentScene.run { scene in
            let library = scene.library()
            let file = URL(fileURLWithPath: scene.folder + "/served/film.zip").absoluteString
            let digest = Hex.encode(SHA256.hash(ContentScene.archive))
            var parameters: JSONObject = ["type": "LocalContentFetcher", "URL": .string(file), "size": 5]
            await #expect(throws: StoreError(.contentMismatch, "")) {
                try await library.fetch("film", parameters: parameters).all()
            }
            parameters["size"] = .number(ContentScene.archive.count)
            parameters["sha256"] = .string(digest)
            let told = try await library.fetch("film", parameters: parameters).all()
            #expect(ContentScene.isFilm(told.last?.location))
            let original = ContentScene.files(scene.folder + "/served")["film.zip"]
            #expect(original == ContentScene.archive, "the original stays where it is")
            await library.close()
        }
    }

    @Test func `on-demand resources are taken when their checksum is the product's`() async throws {
        try await ContentScene.run { scene in
            let folder = scene.folder + "/resources"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            let resources = Resources(folder: folder)
            let library = scene.library([OnDemandContentFetcher(resources)])
            let parameters: JSONObject = [
                "type": "BZROnDemandContentFetcher", "tags": ["film", "sound"], "checksum": "abc",
            ]
            for text in [nil, "abd"] {
                if let text { try Data(text.utf8).write(to: URL(fileURLWithPath: folder + "/film.checksum")) }
                await #expect(throws: StoreError(.contentMismatch, "")) {
                    try await library.fetch("film", parameters: parameters).all()
                }
            }
            try Data("abc\n".utf8).write(to: URL(fileURLWithPath: folder + "/film.checksum"))
            let told = try await library.fetch("film", parameters: parameters).all()
            #expect(ContentScene.files(told.last?.location).keys.sorted() == ["film.checksum"])
            #expect(resources.asked.all.allSatisfy { $0 == ["film", "sound"] })
            await library.close()
        }
    }

    @Test func `the first fetcher that brings the content ends it, and all failures are told`() async throws {
        try await ContentScene.run { scene in
            let library = scene.library()
            let missing: JSONValue = ["type": "LocalContentFetcher", "URL": "file:///nowhere/film.zip"]
            let remote = JSONValue.object(scene.parameters())
            func fallback(_ others: JSONValue...) -> JSONObject {
                ["type": "BZRFallbackContentFetcher", "fetchersParameters": .array(others)]
            }
            scene.next(ContentScene.status(404))
            let error = await #expect(throws: StoreError.self) {
                try await library.fetch("film", parameters: fallback(missing, remote)).all()
            }
            #expect(error?.code == .contentFetchFailed && error?.sentence.contains("/nowhere/film.zip") == true)
            #expect(error?.sentence.contains("404") == true)
            let nested = JSONValue.object(fallback(missing, remote))
            let told = try await library.fetch("film", parameters: fallback(missing, nested, missing)).all()
            #expect(ContentScene.isFilm(told.last?.location))
            await library.close()
        }
    }

    private final class Resources: OnDemandResources {
        let asked = CallLog<Set<String>>()
        private let place: String

        init(folder: String) { place = folder }

        func folder(
            tags: Set<String>, progress: @escaping @Sendable (ContentProgress) -> Void
        ) async throws -> String {
            asked.record(tags)
            return place
        }
    }
}
