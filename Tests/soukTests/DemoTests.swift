import Foundation
import Primitives
import Testing

@Suite(.serialized) struct DemoTests {
    private static let steps = [
        "products", "subscription", "nonConsumable", "consumable", "grant", "renewal", "cancellation", "expiry",
        "serverKilled", "repeated", "tampered", "forged", "otherBundle", "otherRoot", "restore",
    ]

    @Test func `every step holds on the catalogue that comes with Souk`() async throws {
        let outcome = try await SoukExecutable.run(["demo", "--json"])
        try expectEverythingHeld(outcome)
        let skipped = outcome.json?["steps"]?.arrayValue?.filter { $0["skipped"] == true } ?? []
        #expect(skipped.isEmpty)
    }

    @Test(.enabled(if: TestFiles.conformance != nil, "SOUK_CONFORMANCE is not set"), arguments: TestFiles.catalogues)
    func `every step holds on catalogues that others wrote`(file: String) async throws {
        try expectEverythingHeld(
            try await SoukExecutable.run(["demo", "--json", "--catalog", file, "--bundle-id", "com.example.other"]))
    }

    private func expectEverythingHeld(_ outcome: SoukExecutable.Outcome) throws {
        let report = try #require(outcome.json, "\(outcome.errors)")
        let steps = try #require(report["steps"]?.arrayValue)
        #expect(steps.compactMap { $0["name"]?.stringValue } == Self.steps)
        for step in steps { #expect(step["ok"] == true, "\(step)") }
        #expect(report["ok"] == true)
        #expect(outcome.status == 0)
    }

    @Test func `the story is told in lines and ends with a table`() async throws {
        let outcome = try await SoukExecutable.run(["demo"])
        #expect(outcome.status == 0)
        for step in Self.steps { #expect(outcome.output.contains("✓ \(step)")) }
        #expect(outcome.output.contains("because"))
        #expect(outcome.output.contains("Every check held"))
    }

    @Test func `kept processes answer, and end with the demonstration`() async throws {
        let folder = try TemporaryFolder()
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: SoukExecutable.path())
        process.arguments = ["demo", "--keep", "--data", folder.file("data")]
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        var text = ""
        while !text.contains("Bearer") {
            let data = output.fileHandleForReading.availableData
            guard !data.isEmpty else { break }
            text += String(decoding: data, as: UTF8.self)
        }
        let urls = text.matches(of: /http:\/\/127\.0\.0\.1:[0-9]+/).map { String($0.output) }
        let store = try #require(urls.first)
        let products = try await SoukExecutable.run(["store", "--url", store, "products", "--json"])
        #expect(products.json?["products"]?.arrayValue?.count == 6)
        process.interrupt()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
        let after = try await SoukExecutable.run(["store", "--url", store, "products", "--json"])
        #expect(after.status == 1)
        #expect(after.errors.contains("cannot be reached"))
    }
}

@Suite struct CrashLoopTests {
    @Test(.timeLimit(.minutes(10)))
    func `a purchase survives the death of the app and of the server`() async throws {
        let every = ProcessInfo.processInfo.environment["SOUK_CRASH_EVERY"] ?? "3"
        let outcome = try await SoukExecutable.run(["all", every], program: "CrashLoop")
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(outcome.output.contains("acknowledged and finished once"))
    }
}
