import Foundation
import HostTestSupport
import Primitives
import Testing

/// `souk scenario run`: exit codes, output, files.
@Suite struct ScenarioCommandTests {
    private static let trial = TestFiles.repository + "/Examples/Scenarios/free-trial.json"

    private func scenario(_ expected: String) -> String {
        """
        {"name": "one", "catalogue": "\(TestFiles.darkroom)", "steps": [{"createAccount": "anna"},
         {"expect": {"accounts": [{"name": "\(expected)"}]}, "note": "who is there"}]}
        """
    }

    @Test func `a scenario that passes exits 0, and one that fails exits 1 with both sides`() async throws {
        let folder = try TemporaryFolder()
        let good = try await SoukExecutable.run(["scenario", "run", try folder.write("good.json", scenario("anna"))])
        #expect(good.status == 0 && good.errors.isEmpty)
        #expect(good.output.hasPrefix("ok: one (") && good.output.hasSuffix("1 of 1 as expected\n"))
        let files = [try folder.write("bad.json", scenario("ben")), folder.file("good.json")]
        let bad = try await SoukExecutable.run(["scenario", "run"] + files)
        #expect(bad.status == 1 && bad.errors.isEmpty)
        #expect(bad.output.contains("step 2 at /steps/1: expect accounts  (who is there)\n"), "\(bad.output)")
        #expect(bad.output.contains("    - {\"name\":\"ben\"}\n    + {\"name\":\"anna\"}\n"), "\(bad.output)")
        #expect(bad.output.contains("ok: one (") && bad.output.hasSuffix("1 of 2 as expected\n"))
    }

    private static let twoStores = TestFiles.repository + "/Examples/Scenarios/two-stores.json"

    @Test
    func `a customer of two stores is entitled for two years, from the first day on Android to the last on iPhone`()
        async throws
    {
        let run = try await SoukExecutable.run(["scenario", "run", "--json", Self.twoStores])
        #expect(run.status == 0 && run.errors.isEmpty, "\(run.output) \(run.errors)")
    }

    @Test func `each wrong answer of the server is found and shown`() async throws {
        let folder = try TemporaryFolder()
        var document = try JSONValue(parsing: Array(Data(contentsOf: URL(fileURLWithPath: Self.twoStores))))
        var expected: [String] = []
        var steps = try #require(document["steps"]?.arrayValue)
        for index in steps.indices {
            guard var answer = steps[index]["expect"]?["answer"] else { continue }
            // In turn: another state, another feature, a purchase too many.
            if var subscriptions = answer["subscriptions"]?.arrayValue, !subscriptions.isEmpty, index % 2 == 0 {
                subscriptions[0]["state"] = "unheardOf"
                answer["subscriptions"] = .array(subscriptions)
            } else if var features = answer["features"]?.arrayValue, !features.isEmpty {
                features[0]["isActive"] = .bool(features[0]["isActive"] != true)
                answer["features"] = .array(features)
            } else {
                answer["purchases"] = [[:]]
            }
            steps[index]["expect"]?["answer"] = answer
            expected.append("/steps/\(index)/expect/answer")
        }
        document["steps"] = .array(steps)
        #expect(expected.count > 12)
        let file = try folder.write("wrong.json", document.text())
        let run = try await SoukExecutable.run(["scenario", "run", "--json", file])
        #expect(run.status == 1 && run.errors.isEmpty, "\(run.errors)")
        let found = try #require(run.json?["scenarios"]?[0]?["steps"]?.arrayValue)
        let differences = found.flatMap { $0["differences"]?.arrayValue ?? [] }
        #expect(differences.compactMap { $0["pointer"]?.stringValue } == expected)
        #expect(differences.allSatisfy { $0["expected"] != [] && $0["actual"] != [] })
    }

    @Test func `the server finds the renewal and the end of a subscription whose notifications are lost`() async throws
    {
        let folder = try TemporaryFolder()
        let yearly = "com.example.darkroom.plus.yearly"
        let scenario = """
            {"name": "lost", "catalogue": "\(TestFiles.darkroom)", "server": {}, "steps": [
             {"createAccount": "anna"}, {"buy": {"account": "anna", "productID": "\(yearly)"}},
             {"present": {"account": "anna", "customer": "anna"}}, {"receiver": "down"}, {"advance": "P1Y"}, {"advance": "1h"},
             {"expect": {"customer": "anna", "answer": {
               "subscriptions": [{"state": "active", "expiresAt": "2028-01-01T00:00:00Z"}]}}},
             {"cancel": {"account": "anna", "productID": "\(yearly)"}}, {"advance": "P1Y"}, {"advance": "1h"},
             {"expect": {"customer": "anna", "answer": {
               "subscriptions": [{"state": "expired", "autoRenews": false}], "features": [{"isActive": false}]}}}]}
            """
        let run = try await SoukExecutable.run(["scenario", "run", try folder.write("lost.json", scenario)])
        #expect(run.status == 0 && run.errors.isEmpty, "\(run.output) \(run.errors)")
    }

    @Test func `the scenario with a server in the guide passes`() async throws {
        let folder = try TemporaryFolder()
        let guide = try String(
            contentsOfFile: TestFiles.repository + "/Documentation/Guides/Scenarios.md", encoding: .utf8)
        let blocks = guide.components(separatedBy: "```json\n").dropFirst().compactMap {
            $0.components(separatedBy: "```").first
        }
        try #require(blocks.count == 2)
        let text = blocks[1].replacingOccurrences(of: "\"../", with: "\"\(TestFiles.repository)/Examples/")
        let run = try await SoukExecutable.run(["scenario", "run", try folder.write("guide.json", text)])
        #expect(run.status == 0 && run.errors.isEmpty, "\(run.output) \(run.errors)")
    }

    @Test func `a failure of the server is a line on standard error, and the scenario goes on`() async throws {
        let folder = try TemporaryFolder()
        let present = #"{"playPresent": {"purchase": "plus", "customer": "anna"}"#
        let scenario = """
            {"name": "outage", "catalogue": "\(TestFiles.darkroom)",
             "playCatalogue": "\(TestFiles.repository)/Examples/darkroom.play.json", "server": {}, "steps": [
             {"createAccount": "anna"}, {"playBuy": {"account": "anna", "productID": "plus"}, "as": "plus"},
             {"set": {"errors.playAPI": 503}}, \(present), "refused": "unavailable"},
             {"set": {"errors.playAPI": "off"}}, \(present)},
             {"expect": {"purchase": "plus", "playPurchase": {"isAcknowledged": true}}}]}
            """
        let run = try await SoukExecutable.run(["scenario", "run", try folder.write("outage.json", scenario)])
        #expect(run.status == 0, "\(run.output) \(run.errors)")
        #expect(run.errors.contains("souk: the server of the scenario: Google Play: "), "\(run.errors)")
    }

    @Test(.outsideJudge(OutsideJudge.python != nil, "SOUK_PYTHON names no interpreter"))
    func `--json prints one JSON value, and --junit writes a report for CI systems`() async throws {
        let folder = try TemporaryFolder()
        let out = folder.file("junit.xml")
        let bad = try folder.write("bad.json", scenario("ben"))
        let run = try await SoukExecutable.run(["scenario", "run", "--json", Self.trial, bad, "--junit", out])
        #expect(run.status == 1 && run.errors.isEmpty)
        #expect(run.json?["ok"] == false)
        let scenarios = try #require(run.json?["scenarios"]?.arrayValue)
        #expect(scenarios.map { $0["ok"] } == [true, false] && scenarios[1]["file"]?.stringValue == bad)
        #expect(scenarios[1]["steps"]?[1]?["differences"]?[0]?["actual"] == [#"{"name":"anna"}"#])
        let verdict = try await OutsideJudge.judge("junit.py", ["document": .string(try folder.text("junit.xml"))])
        #expect(verdict.status == 0, "\(verdict.output)")
        #expect(verdict.json?["suites"]?[1] == [2, 1, 0])
    }

    @Test func `a report is not written over a scenario`() async throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("one.json", scenario("anna"))
        let link = folder.file("link.json")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: file)
        for path in [file, link] {
            let run = try await SoukExecutable.run(["scenario", "run", Self.trial, file, "--junit", path])
            #expect(run.status == 2 && run.output.isEmpty && run.errors.contains("is one of the scenarios"), "\(run)")
        }
        #expect(try folder.text("one.json") == scenario("anna"))
    }

    @Test func `an invalid scenario file exits 2 with its name and the place, and nothing is run`() async throws {
        let folder = try TemporaryFolder()
        let bad = try folder.write("bad.json", #"{"name": "a", "catalogue": {}, "steps": [{"byu": {}}]}"#)
        let run = try await SoukExecutable.run(["scenario", "run", Self.trial, bad])
        #expect(run.status == 2 && run.output.isEmpty)
        let steps = try folder.write(
            "steps.json", scenario("anna").replacingOccurrences(of: "createAccount", with: "byu"))
        let place = try await SoukExecutable.run(["scenario", "run", "--json", steps])
        #expect(place.status == 2 && place.output.isEmpty)
        #expect(place.errors.contains("\(steps) at /steps/0/byu: there is no action \"byu\""), "\(place.errors)")
        let none = try await SoukExecutable.run(["scenario", "run", folder.file("none.json")])
        #expect(none.status == 2 && none.errors.contains("none.json: the file is not there"))
        #expect(try await SoukExecutable.run(["scenario", "run"]).status == 2)
        #expect(try await SoukExecutable.run(["scenario", "--help"]).status == 0)
        let unwritable = try await SoukExecutable.run(["scenario", "run", Self.trial, "--junit", "/nowhere/junit.xml"])
        #expect(unwritable.status == 2 && unwritable.errors.contains("/nowhere/junit.xml"))
    }

    @Test func `a scenario can come from a pipe, and leaves nothing behind`() async throws {
        let folder = try TemporaryFolder()
        let scratch = folder.file("scratch")
        try FileManager.default.createDirectory(atPath: scratch, withIntermediateDirectories: true)
        let piped = try folder.write("piped.json", scenario("ben"))
        let run = try await SoukExecutable.run(
            ["scenario", "run", "-"], environment: ["TMPDIR": scratch], input: piped)
        #expect(run.status == 1 && run.output.hasPrefix("FAILED: one (standard input, "))
        #expect(try FileManager.default.contentsOfDirectory(atPath: scratch).isEmpty)
    }
}
