import Foundation
import Primitives
import Testing

/// The lists of names and values in `Documentation/Formats.md` are those that the program accepts.
@Suite struct FormatListsTests {
    private let folder: TemporaryFolder
    private let sections: [String: String]

    init() throws {
        folder = try TemporaryFolder()
        let text = try String(contentsOfFile: TestFiles.repository + "/Documentation/Formats.md", encoding: .utf8)
        let parts = text.components(separatedBy: "\n## ").dropFirst().map { $0.split(separator: "\n", maxSplits: 1) }
        sections = Dictionary(uniqueKeysWithValues: parts.map { (String($0[0]), $0.count > 1 ? String($0[1]) : "") })
    }

    private func section(_ title: String) throws -> String {
        try #require(sections[title], "Documentation/Formats.md has no section \"\(title)\"")
    }

    /// The code spans of a text.
    private static func spans(_ text: some StringProtocol) -> [String] {
        text.components(separatedBy: "`").enumerated().filter { $0.offset % 2 == 1 }.map(\.element)
    }

    /// The code spans of the first two columns of a table, row by row. The table is the one with a row that begins with `name`.
    private func table(with name: String, in title: String) throws -> [(names: [String], values: [String])] {
        let lines = try section(title).split(separator: "\n", omittingEmptySubsequences: false)
        let blocks = lines.split { !$0.hasPrefix("|") }
        let block = try #require(
            blocks.first { $0.contains { $0.hasPrefix("| `\(name)`") } }, "\(title): no table has the row `\(name)`")
        return block.dropFirst(2).map { row in
            let cells = row.split(separator: "|")
            return (Self.spans(cells[0]), Self.spans(cells[1]))
        }
    }

    /// The longest list of words in a refusal, such as `off, 3d, 16d, 28d`.
    private static func list(in refusal: String) -> Set<String> {
        let lists = refusal.matches(of: /[\w.-]+(?:, [\w.-]+)+/).map { $0.output.components(separatedBy: ", ") }
        let longest = lists.max { $0.count < $1.count } ?? []
        return Set(longest.map { $0.hasSuffix(".") ? String($0.dropLast()) : $0 })
    }

    /// Records what a refusal lists and the documentation does not. With `all`, also the reverse.
    private func compare(_ documented: [String], with refusal: String, _ place: String, all: Bool = true) {
        let accepted = Self.list(in: refusal)
        #expect(accepted.count > 1, "\(place): the program does not say what it accepts: \(refusal)")
        for name in accepted.subtracting(documented).sorted() {
            Issue.record("Documentation/Formats.md, \(place): \(name) is missing")
        }
        for name in Set(documented).subtracting(accepted).sorted() where all {
            Issue.record("Documentation/Formats.md, \(place): the program does not accept \(name)")
        }
    }

    @Test func `a section has one example if a test reads it, and otherwise none`() throws {
        // FormatsTests reads the first six and the last, FloretsFileTests the others.
        let read: Set = [
            "Product list", "Feature map", "Policy", "Settings of the simulator", "Scenario", "Scenario with a server",
            "Florets", "Recording of a mock", "Profiles",
        ]
        for (title, text) in sections {
            let count = text.components(separatedBy: "```json\n").count - 1
            #expect(count == (read.contains(title) ? 1 : 0), "\(title) has \(count) examples; a test reads one or none")
        }
        #expect(read.isSubset(of: sections.keys))
    }

    @Test func `every member of a scenario and every word of its receiver is documented, and no other`() async throws {
        func refusal(_ members: String, _ step: String) async throws -> String {
            let text = #"{"name": "a", "catalogue": "\#(TestFiles.darkroom)", \#(members) "steps": [\#(step)]}"#
            return try await SoukExecutable.run(["scenario", "run", folder.write("scenario.json", text)]).errors
        }
        let members = try table(with: "catalogue", in: "Scenario").flatMap(\.names)
        compare(
            members, with: try await refusal(#""unknown": 1,"#, #"{"expect": {"clock": {}}}"#), "members of a scenario")
        // For example: `down` (`SOCKET_ISSUE`)
        let words = try section("Scenario").matches(of: /`(\w+)` \(`[A-Z_]+`\)/).map { String($0.1) }
        compare(words, with: try await refusal("", #"{"receiver": ["unknown"]}"#), "words of a receiver")
    }

    @Test func `the values of a setting with fixed values are documented, and no others`() async throws {
        let service = try await SoukService([
            "simulate", "--catalog", TestFiles.darkroom, "--data", folder.file("store"),
        ])
        func refusal(_ setting: String) async throws -> String {
            try await SoukExecutable.run(["store", "--url", service.url, "settings", "set", setting, "unheard-of"])
                .errors
        }
        let names: Set = [
            "gracePeriod", "timeRate", "notificationRetries", "notifySkippedTime", "verifyReceiptEnvironment",
            "serverAPIRateLimit", "refundDecisions",
        ]
        let rows = try table(with: "gracePeriod", in: "Settings of the simulator").filter {
            names.contains($0.names[0])
        }
        #expect(rows.count == names.count, "the table lacks one of \(names.sorted())")
        for (settings, values) in rows {
            compare(values, with: try await refusal(settings[0]), "values of \(settings[0])")
        }
        let spans = Self.spans(try section("Settings of the simulator"))
        compare(spans, with: try await refusal("errors.purchase"), "errors of a purchase", all: false)
        #expect(await service.stop() == 0)
    }

    @Test func `every floret, change and fault is documented`() async throws {
        func refusal(_ floret: String) async throws -> String {
            let file = try folder.write("florets.json", #"{"florets": [\#(floret)]}"#)
            return try await SoukExecutable.run([
                "intercept", "--listen", "127.0.0.1:0", "--upstream", "http://127.0.0.1:1", "--florets", file,
            ]).errors
        }
        let florets = try table(with: "inspector", in: "Florets").flatMap(\.names)
        compare(florets, with: try await refusal(#"{"floret": "unknown"}"#), "florets")
        let spans = Self.spans(try section("Florets"))
        for (floret, place) in [
            (#"{"floret": "findReplace", "request": [{"change": "unknown"}]}"#, "changes"),
            (#"{"floret": "fault", "rules": [{"fault": "unknown"}]}"#, "faults"),
        ] { compare(spans, with: try await refusal(floret), place, all: false) }
    }

    @Test
    func `every documented setting of a catalogue is read or only kept, and every setting that is read is documented`()
        throws
    {
        let documented = Set(try table(with: "_storefront", in: "StoreKit catalogue").flatMap(\.names))
        let read = try DeclaredCodes.literals(/"(_[A-Za-z]+)"/, in: ["AppStoreSimulator/Catalogue"])
        for name in read.subtracting(documented).sorted() {
            Issue.record("Documentation/Formats.md, settings of a catalogue: \(name) is missing")
        }
        // A catalogue keeps these settings, and the program does not read them.
        let kept: Set = ["_lastSynchronizedDate", "_compatibilityTimeRate"]
        for name in documented.subtracting(read).subtracting(kept).sorted() {
            Issue.record("Documentation/Formats.md, settings of a catalogue: the program does not read \(name)")
        }
    }
}
