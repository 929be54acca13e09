import Foundation
import HTTPCore
import Primitives
import StoreKitAdapter
import Testing

@testable import AppStoreSimulator

/// Strings that no store writes, in every place of a state that is imported: the answer is a refusal or a success, and the
/// store goes on after a restart.
@Suite struct ExtremeStringTests {
    /// Nothing, controls, other normal forms and directions of writing, markup, paths, what other types are written as, and
    /// much.
    static let all = [
        "", " ", "\u{0}", "a\u{0}b", "\u{1B}[2J", "e\u{301}", "\u{202E}evil", "\u{FEFF}", "\u{1F4A5}", "..", "a/b",
        "%00",
        "<script>", "'; DROP TABLE store; --", "null", "{}", "[", "-1", "1e999", "P0D", "P99999999Y",
        "2026-02-30T25:61:61Z", "00000000-0000-0000-0000-000000000000", String(repeating: "x", count: 70_000),
    ]

    typealias Path = [String]

    /// Where the strings of a row are. Strings that are themselves JSON count as one, and as those in them: `..` opens them.
    private static func paths(in value: JSONValue) -> [Path] {
        switch value {
        case .object(let members): members.flatMap { member in paths(in: member.value).map { [member.key] + $0 } }
        case .array(let elements): elements.first.map { paths(in: $0).map { ["0"] + $0 } } ?? []
        case .string(let text):
            switch try? JSONValue(parsing: text) {
            case let inner? where inner.objectValue != nil || inner.arrayValue != nil:
                [[]] + paths(in: inner).map { [".."] + $0 }
            default: [[]]
            }
        default: []
        }
    }

    private static func replace(_ path: Path, in value: JSONValue, with text: String) -> JSONValue {
        guard let step = path.first else { return .string(text) }
        let rest = Array(path.dropFirst())
        switch value {
        case .object(var members):
            if let old = members[step] { members[step] = replace(rest, in: old, with: text) }
            return .object(members)
        case .array(var elements):
            if let first = elements.first { elements[0] = replace(rest, in: first, with: text) }
            return .array(elements)
        case .string(let json):
            guard let inner = try? JSONValue(parsing: json) else { return value }
            return .string(replace(rest, in: inner, with: text).text(pretty: false))
        default: return value
        }
    }

    @Test func `every text column of the books has a form`() async throws {
        try await TestStore.with { test in
            let columns = try test.store.database.read { sql in
                try sql.query(
                    """
                    SELECT m.name AS name, c.name AS part FROM sqlite_master m JOIN pragma_table_info(m.name) c
                    WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' AND m.name <> 'schema_migrations'
                    AND c.type = 'TEXT'
                    """
                ).map { row -> String in
                    let (table, column): (String, String) = (try row["name"], try row["part"])
                    return "\(table).\(column)"
                }
            }
            let forms = ColumnForm.all.flatMap { table in table.value.keys.map { "\(table.key).\($0)" } }
            #expect(Set(columns) == Set(forms))
        }
    }

    /// With `SOUK_EXTREMES` every string is tried in every place, and every state that is taken is lived with after a
    /// restart; otherwise each place meets every twelfth string, and every eighth state is lived with.
    @Test(arguments: ColumnRange.all.keys.sorted())
    func `a state with an extreme string is refused, or lives on after a restart`(table: String) async throws {
        let folder = try ScratchFolder()
        var state: JSONValue = nil
        try await TestStore.with(change: ExtremeNumberTests.sending) {
            state = try await ExtremeNumberTests.furnish($0)
        }
        var test = try await TestStore.open(in: folder, change: ExtremeNumberTests.sending)
        var taken = 0
        let rows = state["tables"]?[table] ?? []
        for (place, path) in Self.paths(in: rows).enumerated() {
            for (index, text) in Self.all.enumerated() where ExtremeNumbers.isWhole || (index + place) % 12 == 0 {
                var changed = state
                changed["tables"]?[table] = Self.replace(path, in: rows, with: text)
                let what = "\(table) \(path.joined(separator: "/")) = \(text.debugDescription.prefix(40))"
                let answer = try await StoreRoutesTests.Client(test).ask(.put, "/control/v1/state", changed.text())
                guard answer.status == 200 else {
                    #expect((400..<500).contains(answer.status), "\(what): \(answer)")
                    continue
                }
                taken += 1
                guard taken % 8 == 1 || ExtremeNumbers.isWhole else { continue }
                await test.store.close()
                test = try await TestStore.open(in: folder, change: ExtremeNumberTests.sending)
                try await ExtremeNumberTests.live(StoreRoutesTests.Client(test), what)
            }
        }
        await test.store.close()
    }
}
