import Foundation
import Testing

/// A page of `Documentation/Reference`, which tests compare with the running program.
///
/// The program is compared with rows of tables and with blocks of text. All other text, and the cells that the program
/// does not know, are written by hand. After a change of the program, this writes the rows and blocks again:
///
///     SOUK_WRITE_REFERENCE=1 Scripts/run-tests --filter Reference
struct ReferencePage {
    /// The file's path from the root of the repository.
    let file: String
    private(set) var lines: [String]
    /// The differences from the program, one sentence each.
    private(set) var faults: [String] = []
    /// Whether the page is rewritten with the program's values.
    private let isWriting = ProcessInfo.processInfo.environment["SOUK_WRITE_REFERENCE"] != nil

    init(_ name: String) throws {
        file = "Documentation/Reference/\(name)"
        lines = try String(contentsOfFile: "\(TestFiles.repository)/\(file)", encoding: .utf8)
            .components(separatedBy: "\n")
    }

    /// Records the faults as issues. Writes the page first, if requested.
    func conclude() throws {
        if isWriting {
            try lines.joined(separator: "\n").write(
                toFile: "\(TestFiles.repository)/\(file)", atomically: true, encoding: .utf8)
        }
        for fault in faults { Issue.record("\(file): \(fault)") }
    }

    mutating func report(_ fault: String) { faults.append(fault) }

    // MARK: - Tables

    /// A row of a table: the index of its line, and its cells.
    struct Row {
        let line: Int
        var cells: [String]
    }

    /// The rows of all tables whose first column has this title.
    func rows(_ title: String) -> [Row] {
        var rows: [Row] = []
        var isInside = false
        for (number, line) in lines.enumerated() {
            guard line.hasPrefix("| ") else {
                isInside = isInside && line.hasPrefix("|---")
                continue
            }
            let cells = line.dropFirst().split(separator: "|", omittingEmptySubsequences: false).dropLast().map {
                $0.trimmingCharacters(in: .whitespaces)
            }
            if isInside { rows.append(Row(line: number, cells: cells)) }
            isInside = isInside || cells.first == title
        }
        return rows
    }

    /// Compares the rows of the tables whose first column has this title.
    ///
    /// - Parameters:
    ///   - title: The title of the first column, whose cells are the names of the rows.
    ///   - columns: The titles of the other columns.
    ///   - expected: The program's values, by the names of the rows. `nil` is a cell that is written by hand.
    mutating func compare(_ title: String, _ columns: [String], with expected: [(name: String, cells: [String?])]) {
        let known = Dictionary(expected.map { ($0.name, $0.cells) }) { first, _ in first }
        var found: Set<String> = []
        for row in rows(title).reversed() {
            let name = row.cells[0]
            guard let cells = known[name] else {
                remove(row.line, "the \(title) \(name) has a row, and the program does not have it")
                continue
            }
            guard found.insert(name).inserted else {
                remove(row.line, "the \(title) \(name) has two rows")
                continue
            }
            var fitting = [name]
            for (index, column) in columns.enumerated() {
                let shown = row.cells.indices.contains(index + 1) ? row.cells[index + 1] : ""
                fitting.append(cells[index] ?? shown)
                if cells[index] == nil, shown.isEmpty {
                    report("\(title) \(name): the column \"\(column)\" is empty")
                }
                guard let cell = cells[index], cell != shown, !isWriting else { continue }
                report("\(title) \(name): the column \"\(column)\" says \"\(shown)\", and the program \"\(cell)\"")
            }
            if isWriting { lines[row.line] = Self.line(fitting) }
        }
        for (name, cells) in expected where !found.contains(name) {
            guard isWriting,
                let last = rows(title).last?.line ?? lines.firstIndex(where: { $0.hasPrefix("| \(title) |") })
            else {
                report("the \(title) \(name) has no row")
                continue
            }
            let end = lines[last + 1].hasPrefix("|---") ? last + 2 : last + 1
            lines.insert(Self.line([name] + cells.map { $0 ?? "" }), at: end)
        }
    }

    private static func line(_ cells: [String]) -> String { "| \(cells.joined(separator: " | ")) |" }

    private mutating func remove(_ line: Int, _ fault: String) {
        if isWriting { lines.remove(at: line) } else { report(fault) }
    }

    // MARK: - Sections

    /// The titles of all headings, without code marks, in order.
    var headings: [String] { headingLines.map { Self.title(lines[$0]) } }

    /// The lines of a section without its block of text. `nil` without such a heading.
    func prose(of title: String) -> [String]? {
        guard let range = range(of: title) else { return nil }
        guard let block = blockRange(in: range) else { return Array(lines[range]) }
        return Array(lines[range.lowerBound..<block.lowerBound] + lines[block.upperBound..<range.upperBound])
    }

    /// Compares the block of text in a section, line by line.
    mutating func compareBlock(of title: String, with expected: [String]) {
        guard let range = range(of: title) else {
            if isWriting { lines += ["### `\(title)`", "", "```text"] + expected + ["```", ""] }
            return report("the section \"\(title)\" is missing")
        }
        guard let block = blockRange(in: range) else {
            return report("the section \"\(title)\" has no block of text")
        }
        if isWriting { return lines.replaceSubrange(block, with: expected) }
        let shown = Array(lines[block])
        for line in expected where !shown.contains(line) { report("\(title): the page lacks the line \"\(line)\"") }
        for line in shown where !expected.contains(line) {
            report("\(title): the program does not print the line \"\(line)\"")
        }
        if shown != expected, Set(shown) == Set(expected) { report("\(title): the lines are in another order") }
    }

    private var headingLines: [Int] {
        var isCode = false
        return lines.indices.filter { number in
            if lines[number].hasPrefix("```") { isCode.toggle() }
            return !isCode && lines[number].hasPrefix("#")
        }
    }

    private static func title(_ heading: String) -> String {
        heading.drop { $0 == "#" }.replacingOccurrences(of: "`", with: "").trimmingCharacters(in: .whitespaces)
    }

    private func range(of title: String) -> Range<Int>? {
        let headings = headingLines
        guard let place = headings.firstIndex(where: { Self.title(lines[$0]) == title }) else { return nil }
        let end = place + 1 < headings.count ? headings[place + 1] : lines.count
        return headings[place] + 1..<end
    }

    private func blockRange(in range: Range<Int>) -> Range<Int>? {
        guard let start = lines[range].firstIndex(of: "```text"),
            let end = lines[start..<range.upperBound].firstIndex(of: "```")
        else { return nil }
        return start + 1..<end
    }
}
