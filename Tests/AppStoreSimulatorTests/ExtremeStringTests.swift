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

    @Test func `every text column of the books has a form`() async throws {
        try await TestStore.with { test in
            let forms = ColumnForm.all.flatMap { table in table.value.keys.map { "\(table.key).\($0)" } }
            let columns = try test.columns(of: "TEXT")
            #expect(columns == Set(forms))
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
        for (place, path) in JSONPlaces.paths(in: rows, where: { $0.stringValue != nil }).enumerated() {
            for (index, text) in Self.all.enumerated() where ExtremeNumbers.isWhole || (index + place) % 12 == 0 {
                var changed = state
                changed["tables"]?[table] = JSONPlaces.replace(path, in: rows, with: .string(text))
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
