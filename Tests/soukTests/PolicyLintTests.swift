import Primitives
import Testing

@Suite struct PolicyLintTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func lint(_ files: [(String, String)], _ options: String...) async throws -> SoukExecutable.Outcome {
        let paths = try files.map { try folder.write($0.0, $0.1) }
        return try await SoukExecutable.run(["policy", "lint"] + options + paths)
    }

    /// The findings of the JSON as "error file pointer".
    private func places(_ outcome: SoukExecutable.Outcome) -> [String] {
        (outcome.json?["findings"]?.arrayValue ?? []).map { finding in
            let file = finding["file"]?.stringValue?.split(separator: "/").last ?? ""
            return "\(finding["severity"]?.stringValue ?? "") \(file) \(finding["pointer"]?.stringValue ?? "")"
        }
    }

    private let screen = (
        "screen.json",
        #"{"name": "Screen", "send": {"commands": ["a.go"]}, "subscribe": {"events": ["a.went"]}}"#
    )
    private let worker = (
        "worker.json", #"{"name": "Worker", "receive": {"commands": ["a.go"]}, "publish": {"events": ["a.went"]}}"#
    )

    @Test func `policies that fit together pass`() async throws {
        let outcome = try await lint([screen, worker])
        #expect(outcome.status == 0)
        #expect(outcome.output == "2 files, 0 errors, 0 warnings\n")
        let json = try await lint([screen, worker], "--json")
        #expect(json.json == ["ok": true, "findings": []])
    }

    @Test func `a message without a counterpart is an error with its file and place, and a warning in a partial set`()
        async throws
    {
        let whole = try await lint([screen], "--json")
        #expect(whole.status == 1)
        #expect(whole.json?["ok"] == false)
        #expect(places(whole) == ["error screen.json /send/commands/0", "error screen.json /subscribe/events/0"])
        #expect(whole.json?["findings"]?[0]?["code"] == "noReceiver")
        #expect(whole.json?["findings"]?[0]?["plugin"] == "Screen")
        #expect(whole.json?["findings"]?[0]?["message"] == "a.go")
        let part = try await lint([screen], "--json", "--partial")
        #expect(part.status == 0)
        #expect(part.json?["ok"] == true)
        #expect(places(part) == ["warning screen.json /send/commands/0", "warning screen.json /subscribe/events/0"])
    }

    @Test func `each finding is printed in one line`() async throws {
        let outcome = try await lint([screen])
        let lines = outcome.output.split(separator: "\n")
        #expect(lines.count == 3)
        #expect(lines[0].contains("screen.json /send/commands/0: error: No plugin receives the command \"a.go\""))
        #expect(lines[2] == "1 file, 2 errors, 0 warnings")
    }

    @Test func `of two conflicting policies, the error is at the later one`() async throws {
        let outcome = try await lint([worker, ("copy.json", worker.1), screen], "--json")
        #expect(outcome.status == 1)
        #expect(places(outcome) == ["error copy.json /name", "error copy.json /receive/commands/0"])
    }

    @Test func `an error that only follows from another is not reported`() async throws {
        let broken = (
            "worker.json",
            #"{"name": "Worker", "send": {"queries": ["b"]}, "receive": {"commands": ["a.go"]}, "publish": {"events": ["a.went"]}}"#
        )
        let outcome = try await lint([screen, broken], "--json")
        #expect(places(outcome) == ["error worker.json /send/queries/0"])
    }

    @Test func `policies with only warnings pass`() async throws {
        let outcome = try await lint(
            [("a.json", #"{"name": "A", "send": {"requests": ["r"]}, "colour": 1, "publish": {"event": []}}"#)],
            "--json")
        #expect(outcome.status == 0)
        #expect(
            places(outcome) == [
                "warning a.json /colour", "warning a.json /publish/event", "warning a.json /send/requests/0",
            ])
    }

    @Test(arguments: [
        ("{", "error a.json ", "line 1"),
        ("{\"name\": \"A\",\n}", "error a.json ", "line 2"),
        ("[]", "error a.json ", "an object"),
        ("{}", "error a.json ", "no \"name\""),
        (#"{"name": 3}"#, "error a.json /name", "a string"),
        (#"{"name": "A", "send": []}"#, "error a.json /send", "an object"),
        (#"{"name": "A", "send": {"commands": "x"}}"#, "error a.json /send/commands", "a list of strings"),
        (#"{"name": "A", "publish": {"events": ["a", null]}}"#, "error a.json /publish/events/1", "a string"),
        (#"{"name": "A", "publish": {"events": ["a", 3]}}"#, "error a.json /publish/events/1", "a string"),
        (#"{"name": "A", "name": "B"}"#, "error a.json ", "twice"),
        (#"{"name": "A\n"}"#, "error a.json /name", "control characters"),
        (#"{"name": "A", "receive": {"queries": ["x", ""]}}"#, "error a.json /receive/queries/1", "must not be empty"),
    ])
    func `an invalid policy file is named with the place`(text: String, place: String, reason: String) async throws {
        let outcome = try await lint([("a.json", text)], "--json")
        #expect(outcome.status == 1)
        #expect(places(outcome) == [place])
        let found = outcome.json?["findings"]?[0]?["reason"]?.stringValue ?? ""
        #expect(found.contains(reason), "\(found)")
    }

    @Test func `beside an invalid policy file, a message without a counterpart is a warning`() async throws {
        let outcome = try await lint([screen, ("broken.json", "{")], "--json")
        #expect(outcome.status == 1)
        #expect(
            places(outcome) == [
                "warning screen.json /send/commands/0", "warning screen.json /subscribe/events/0", "error broken.json ",
            ])
    }
}
