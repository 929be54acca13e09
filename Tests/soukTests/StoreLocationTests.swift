import Foundation
import Primitives
import Testing

/// The simulator that `souk store` controls: options, a variable and profiles.
@Suite struct StoreLocationTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static let closed = "http://127.0.0.1:1"

    /// Runs `souk store` with a home folder of its own.
    private func store(
        _ words: [String], profiles: String? = nil, environment: [String: String] = [:], at place: String = ".config"
    ) async throws -> SoukExecutable.Outcome {
        let parent = folder.file("\(place)/souk")
        try? FileManager.default.removeItem(atPath: folder.file(place))
        if let profiles {
            try FileManager.default.createDirectory(atPath: parent, withIntermediateDirectories: true)
            try Data(profiles.utf8).write(to: URL(fileURLWithPath: parent + "/profiles.json"))
        }
        let home = ["HOME": folder.path, "XDG_CONFIG_HOME": "", "SOUK_STORE_URL": ""]
        return try await SoukExecutable.run(["store"] + words, environment: home.merging(environment) { $1 })
    }

    @Test func `an option precedes the variable, and the variable precedes the default profile`() async throws {
        let service = try await SoukService(["simulate", "--catalog", TestFiles.darkroom])
        let (good, bad) = (service.url, Self.closed)
        func profiles(_ first: String, _ second: String) -> String {
            #"{"default": "one", "profiles": {"one": {"storeURL": "\#(first)"}, "two": {"storeURL": "\#(second)"}}}"#
        }
        for (words, file, variable, works) in [
            (["--url", good], profiles(bad, bad), bad, true), (["--url", bad], profiles(good, good), good, false),
            (["--profile", "two"], profiles(bad, good), bad, true),
            (["--profile", "two"], profiles(good, bad), good, false),
            ([], profiles(bad, bad), good, true), ([], profiles(good, good), bad, false),
            ([], profiles(good, bad), "", true), ([], profiles(bad, good), "", false),
            (["--profile", "one"], profiles(good + "/", bad), "", true),
        ] {
            let outcome = try await store(
                words + ["products"], profiles: file, environment: ["SOUK_STORE_URL": variable])
            #expect(outcome.status == (works ? 0 : 1), "\(words) \(variable): \(outcome)")
        }
        let only = try await store(["products"], profiles: #"{"profiles": {"a": {"storeURL": "\#(good)"}}}"#)
        #expect(only.status == 0, "\(only)")
        let elsewhere = try await store(
            ["products"], profiles: profiles(good, bad), environment: ["XDG_CONFIG_HOME": folder.file("settings")],
            at: "settings")
        #expect(elsewhere.status == 0, "\(elsewhere)")
        // The specification of XDG ignores a relative path.
        let relative = try await store(
            ["products"], profiles: profiles(good, bad), environment: ["XDG_CONFIG_HOME": "settings"])
        #expect(relative.status == 0, "\(relative)")
        #expect(await service.stop() == 0)
    }

    @Test func `without a URL one sentence says what to do`() async throws {
        for home in ["", folder.path] {
            let outcome = try await store(["products"], environment: ["HOME": home])
            #expect(outcome.status == 2 && outcome.output.isEmpty)
            for word in ["--url", "SOUK_STORE_URL", ".config/souk/profiles.json"] {
                #expect(outcome.errors.contains(word), "\(outcome.errors)")
            }
            #expect(outcome.errors.split(separator: "\n").count == 1)
        }
        let named = try await store(["--profile", "ci", "products"])
        #expect(named.status == 2 && named.errors.contains("profiles.json"), "\(named)")
    }

    @Test(arguments: [
        ("no JSON", "profiles.json: this is not JSON"), ("[]", "profiles.json: this should be a JSON object"),
        ("{}", "profiles.json/profiles"), (#"{"profiles": {}}"#, "there is no profile"),
        (#"{"profiles": {"a": {"storeURL": "http://h"}}, "url": "x"}"#, "profiles.json/url: there is no such member"),
        (#"{"default": "b", "profiles": {"a": {"storeURL": "http://h"}}}"#, "profiles.json/default"),
        (#"{"default": 1, "profiles": {"a": {"storeURL": "http://h"}}}"#, "profiles.json/default"),
        (#"{"profiles": {"a": {"storeURL": "http://h"}, "b": {"storeURL": "http://h"}}}"#, "choose one of a, b"),
        (#"{"profiles": {"a": []}}"#, "profiles.json/profiles/a: this should be an object"),
        (#"{"profiles": {"a": {}}}"#, "profiles.json/profiles/a/storeURL"),
        (#"{"profiles": {"a": {"storeURL": 1}}}"#, "profiles.json/profiles/a/storeURL"),
        (#"{"profiles": {"a": {"storeURL": "ftp://PLANTED"}}}"#, "profiles.json/profiles/a/storeURL is an http"),
        (#"{"profiles": {"a": {"storeURL": "http://h", "u~/x": 1}}}"#, "profiles/a/u~0~1x: there is no such member"),
    ])
    func `an error in the file names its place, and not the URL`(file: String, expected: String) async throws {
        let outcome = try await store(["products"], profiles: file)
        #expect(outcome.status == 2 && outcome.output.isEmpty)
        #expect(outcome.errors.contains(expected) && !outcome.errors.contains("PLANTED"), "\(outcome.errors)")
        #expect(outcome.errors.split(separator: "\n").count == 1)
    }

    @Test func `a profile with a mistyped name gets a suggestion, and a wrong variable is named`() async throws {
        let file = #"{"profiles": {"darkroom": {"storeURL": "http://h"}}}"#
        let mistyped = try await store(["--profile", "darkrom", "products"], profiles: file)
        #expect(mistyped.status == 2 && mistyped.errors.hasSuffix("Did you mean \"darkroom\"?\n"), "\(mistyped)")
        let wrong = try await store(["products"], environment: ["SOUK_STORE_URL": "localhost"])
        #expect(wrong.status == 2 && wrong.errors.hasPrefix("souk: SOUK_STORE_URL is an http"), "\(wrong)")
    }
}
