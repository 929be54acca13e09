import BaseTestSupport
import Foundation
import Primitives
import StoreModel
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
    func `parameters with a missing or invalid member are refused with its name`(
        parameters: JSONObject, member: String
    ) async throws {
        try await ContentScene.run { scene in
            let resources = Resources(folder: scene.folder)
            let library = scene.library([scene.fetcher(), LocalContentFetcher(), OnDemandContentFetcher(resources)])
            let error = await #expect(throws: PurchaseError.self) {
                try await library.fetch("film", parameters: parameters).all()
            }
            #expect(error?.code == .invalidContentFetcherParameters)
            #expect(error?.reason.hasPrefix("\(member): ") == true, "\(error as Any)")
            #expect(!FileManager.default.fileExists(atPath: scene.kept), "A refused fetch must not create a file.")
            await library.close()
        }
    }

    @Test(arguments: ["Carrier", "OnDemandContentFetcher"])
    func `the error names a fetcher that is not registered`(type: String) async throws {
        try await ContentScene.run { scene in
            let library = scene.library()
            let error = await #expect(throws: PurchaseError.self) {
                try await library.fetch("film", parameters: ["type": .string(type), "tags": ["a"], "checksum": "1"])
                    .all()
            }
            #expect(error?.code == .contentFetcherNotRegistered && error?.reason.contains(type) == true)
            await library.close()
        }
    }

    @Test func `an archive on the device is compared with its size and digest`() async throws {
        try await ContentScene.run { scene in
            let library = scene.library()
            let file = URL(fileURLWithPath: scene.folder + "/served/film.zip").absoluteString
            let digest = Hex.encode(SHA256.hash(ContentScene.archive))
            var parameters: JSONObject = ["type": "LocalContentFetcher", "URL": .string(file), "size": 5]
            await #expect(throws: PurchaseError(.contentMismatch, "")) {
                try await library.fetch("film", parameters: parameters).all()
            }
            parameters["size"] = .number(ContentScene.archive.count)
            parameters["sha256"] = .string(digest)
            let reported = try await library.fetch("film", parameters: parameters).all()
            #expect(ContentScene.isFilm(reported.last?.location))
            let original = ContentScene.files(scene.folder + "/served")["film.zip"]
            #expect(original == ContentScene.archive, "The original file must not change.")
            await library.close()
        }
    }

    @Test func `on-demand resources are accepted if they have the product's checksum`() async throws {
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
                await #expect(throws: PurchaseError(.contentMismatch, "")) {
                    try await library.fetch("film", parameters: parameters).all()
                }
            }
            try Data("abc\n".utf8).write(to: URL(fileURLWithPath: folder + "/film.checksum"))
            let reported = try await library.fetch("film", parameters: parameters).all()
            #expect(ContentScene.files(reported.last?.location).keys.sorted() == ["film.checksum"])
            #expect(resources.asked.all.allSatisfy { $0 == ["film", "sound"] })
            #expect(
                resources.released.all == [["film", "sound"], ["film", "sound"]],
                "The first attempt has no resources to release.")
            await library.close()
        }
    }

    @Test func `on-demand resources are released after they are copied, also in a fallback`() async throws {
        try await ContentScene.run { scene in
            let folder = scene.folder + "/resources"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            try Data("abc".utf8).write(to: URL(fileURLWithPath: folder + "/film.checksum"))
            let resources = Resources(folder: folder)
            let library = scene.library([OnDemandContentFetcher(resources), LocalContentFetcher()])
            let local: JSONValue = ["type": "LocalContentFetcher", "URL": "file:///nowhere/film.zip"]
            let onDemand: JSONValue = ["type": "OnDemandContentFetcher", "tags": ["film"], "checksum": "abc"]
            let reported = try await library.fetch(
                "film",
                parameters: [
                    "type": "FallbackContentFetcher",
                    "fetchersParameters": [
                        local, ["type": "FallbackContentFetcher", "fetchersParameters": [onDemand]],
                    ],
                ]
            ).all()
            #expect(ContentScene.files(reported.last?.location).keys.sorted() == ["film.checksum"])
            #expect(resources.released.all == [["film"]])
            try FileManager.default.createSymbolicLink(
                atPath: folder + "/link", withDestinationPath: folder + "/film.checksum")
            await #expect(throws: PurchaseError(.contentExtractionFailed, "")) {
                try await library.fetch("film", parameters: onDemand.objectValue ?? [:]).all()
            }
            #expect(resources.released.all == [["film"], ["film"]], "Refused resources must be released too.")
            await library.close()
        }
    }

    @Test(arguments: [
        (4992, PurchaseError.Code.diskFull), (4993, .diskFull), (4994, .invalidContentFetcherParameters),
        (4097, .contentFetchFailed),
    ])
    func `failures of on-demand resources become the store's codes`(number: Int, code: PurchaseError.Code) {
        let error = PurchaseError.ofBundleResources(NSError(domain: NSCocoaErrorDomain, code: number))
        #expect((error as? PurchaseError)?.code == code)
        let elsewhere = PurchaseError.ofBundleResources(NSError(domain: NSURLErrorDomain, code: number))
        #expect((elsewhere as? PurchaseError)?.code == .contentFetchFailed)
    }

    @Test func `a cancelled request for on-demand resources is a cancellation`() {
        let cancelled = NSError(domain: NSCocoaErrorDomain, code: CocoaError.userCancelled.rawValue)
        #expect(PurchaseError.ofBundleResources(cancelled) is CancellationError)
    }

    @Test func `the files of a product are in a folder with its name or in the root of the app`() throws {
        let top = FileManager.default.temporaryDirectory.resolvingSymlinksInPath()
            .appendingPathComponent("souk-bundle-\(UUID().uuidString).bundle").path
        defer { try? FileManager.default.removeItem(atPath: top) }
        try FileManager.default.createDirectory(atPath: top + "/com.film", withIntermediateDirectories: true)
        for file in ["/com.film/com.film.checksum", "/com.film.checksum", "/com.sound.checksum"] {
            try Data("abc".utf8).write(to: URL(fileURLWithPath: top + file))
        }
        let bundle = try #require(Bundle(path: top))
        #expect(bundle.folder(holding: "com.film.checksum") == top + "/com.film")
        #expect(bundle.folder(holding: "com.sound.checksum") == top)
        #expect(bundle.folder(holding: "com.other.checksum") == nil)
    }

    @Test func `the platform's progress is reported only if it has a total`() {
        let progress = Progress(totalUnitCount: -1)
        #expect(ContentProgress(progress) == nil)
        progress.totalUnitCount = 80
        progress.completedUnitCount = 20
        #expect(ContentProgress(progress) == ContentProgress(received: 20, total: 80))
    }

    @Test func `the first fetcher that succeeds ends the fallback, and if all fail, each failure is reported`()
        async throws
    {
        try await ContentScene.run { scene in
            let library = scene.library()
            let missing: JSONValue = ["type": "LocalContentFetcher", "URL": "file:///nowhere/film.zip"]
            let remote = JSONValue.object(scene.parameters())
            func fallback(_ others: JSONValue...) -> JSONObject {
                ["type": "BZRFallbackContentFetcher", "fetchersParameters": .array(others)]
            }
            scene.next(ContentScene.status(404))
            let error = await #expect(throws: PurchaseError.self) {
                try await library.fetch("film", parameters: fallback(missing, remote)).all()
            }
            #expect(error?.code == .contentFetchFailed && error?.reason.contains("/nowhere/film.zip") == true)
            #expect(error?.reason.contains("404") == true)
            let nested = JSONValue.object(fallback(missing, remote))
            let reported = try await library.fetch("film", parameters: fallback(missing, nested, missing)).all()
            #expect(ContentScene.isFilm(reported.last?.location))
            await library.close()
        }
    }

    private final class Resources: OnDemandResources {
        let asked = CallLog<Set<String>>()
        let released = CallLog<Set<String>>()
        private let place: String

        init(folder: String) { place = folder }

        func folder(
            holding name: String, tags: Set<String>, progress: @escaping @Sendable (ContentProgress) -> Void
        ) async throws -> String? {
            asked.record(tags)
            return FileManager.default.fileExists(atPath: "\(place)/\(name)") ? place : nil
        }

        func release(tags: Set<String>) async {
            #expect(released.all.count < asked.all.count)
            released.record(tags)
        }
    }
}
