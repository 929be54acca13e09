import Foundation
import PluginHub
import Testing

@Suite struct PolicyTests {
    private func policy(_ json: String) throws -> Policy { try Policy(json: Array(json.utf8)) }

    private let seed = """
        {
            "name": "PluginName",
            "send": { "commands": ["a"], "queries": ["b"], "requests": ["r"], "viewControllerQueries": ["c"] },
            "receive": { "commands": ["d"], "queries": ["e"], "requests": [], "viewControllerQueries": ["f"] },
            "publish": { "events": ["g"] },
            "subscribe": { "events": ["h"] },
            "subscribeAtAppLaunch": { "events": ["i"] }
        }
        """

    @Test func `a policy with all lists is read`() throws {
        let expected = Policy(
            name: "PluginName",
            send: .init(commands: ["a"], queries: ["b"], viewControllerQueries: ["c"], requests: ["r"]),
            receive: .init(commands: ["d"], queries: ["e"], viewControllerQueries: ["f"]),
            publish: ["g"], subscribe: ["h"], subscribeAtAppLaunch: ["i"])
        #expect(try policy(seed) == expected)
        #expect(try JSONDecoder().decode(Policy.self, from: Data(seed.utf8)) == expected)
    }

    @Test func `missing lists are empty and unknown keys are ignored`() throws {
        let json = """
            {"name": "A", "version": 3, "send": {"commands": ["a"], "telepathy": [1]}, "publish": {}, "receive": null}
            """
        #expect(try policy(json) == Policy(name: "A", send: .init(commands: ["a"])))
    }

    @Test func `a policy is decoded as it was encoded`() throws {
        let original = try policy(seed)
        #expect(try JSONDecoder().decode(Policy.self, from: JSONEncoder().encode(original)) == original)
    }

    @Test func `the events of a policy are encoded as an object with a list`() throws {
        let value = try JSONDecoder().decode(JSONValue.self, from: JSONEncoder().encode(["a", "b"] as Policy.Events))
        #expect(value == ["events": ["a", "b"]])
        #expect(try JSONDecoder().decode(Policy.Events.self, from: Data(#"{"events":["a"]}"#.utf8)) == ["a"])
    }

    @Test(arguments: [
        ("{", "line 1"),
        ("[]", "the document"),
        ("{}", "\"name\" is missing"),
        (#"{"name": 3}"#, "\"name\""),
        (#"{"name": "A", "send": {"commands": ["a", 3]}}"#, "\"send.commands[1]\""),
        (#"{"name": "A", "publish": ["a"]}"#, "\"publish\""),
        (#"{"name": "A", "name": "B"}"#, "twice"),
    ])
    func `an invalid policy is refused with the position`(json: String, place: String) {
        let error = #expect(throws: PluginError.self) { _ = try policy(json) }
        #expect(error?.code == .invalidPolicy)
        #expect(error?.sentence.contains(place) == true, "\(error?.sentence ?? "")")
    }

    @Test func `a policy file is read, and the error of a missing or invalid file has its path`() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("a.policy.json").path
        try Data(seed.utf8).write(to: URL(fileURLWithPath: file))
        #expect(try Policy(contentsOfFile: file).name == "PluginName")
        try Data("{}".utf8).write(to: URL(fileURLWithPath: file))
        let missing = folder.appendingPathComponent("none").path
        for (path, code) in [(file, PluginError.Code.invalidPolicy), (missing, .unreadableConfiguration)] {
            let error = #expect(throws: PluginError.self) { _ = try Policy(contentsOfFile: path) }
            #expect(error?.code == code)
            #expect(error?.sentence.contains(path) == true)
        }
    }

    @Test func `a finding describes itself, and is decoded as it was encoded`() throws {
        let finding = try #require(Policy.findings(among: [.sending("A", .command, "x")]).first)
        #expect("\(finding)".hasPrefix("error: No plugin receives the command \"x\""))
        #expect(try JSONDecoder().decode(Hub.Finding.self, from: JSONEncoder().encode(finding)) == finding)
    }
}
