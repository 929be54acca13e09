import Foundation
import Primitives

/// Compares expected and actual values. Only members that the scenario has are compared. A list is compared as a whole,
/// unless the scenario has a rule for it, such as `includes`.
struct ScenarioMatch {
    /// The ids of transactions and devices, by the names of steps.
    private(set) var names: [String: String]

    /// One line of a difference.
    typealias Line = Scenario.Report.Line

    init(names: [String: String]) { self.names = names }

    /// Returns the differences. If there are none, gives the transactions with a member `as` their names.
    mutating func differences(_ expected: JSONValue, _ actual: JSONValue) -> [Line] {
        guard fits(expected, actual) else { return lines(expected, actual) }
        name(expected, actual)
        return []
    }

    /// Whether an actual value matches the expected one. A date also matches the same instant in milliseconds,
    /// as Apple's payloads have it.
    func fits(_ expected: JSONValue, _ actual: JSONValue?, _ member: String = "") -> Bool {
        switch (expected, actual) {
        case (.null, _): actual?.isNull ?? true
        case (.object(let members), .object(let actualMembers)):
            members.allSatisfy {
                $0.key == "as" ? actualMembers["transactionID"] != nil : fits($0.value, actualMembers[$0.key], $0.key)
            }
        case (.object(let rules), .array(let actualElements)):
            rules.allSatisfy { fits(rule: $0.key, $0.value, actualElements) }
        case (.array(let elements), .array(let actualElements)):
            elements.count == actualElements.count && zip(elements, actualElements).allSatisfy { fits($0, $1) }
        case (.string(let text), .string(let actualText)):
            text == actualText || Self.isNamed(member) && names[text] == actualText
                || Self.isSameInstant(text, actualText)
        case (.string(let text), .number(let number)):
            RFC3339.date(from: text).map { ($0.timeIntervalSince1970 * 1000).rounded() == number.double } ?? false
        default: expected == actual
        }
    }

    private func fits(rule: String, _ expected: JSONValue, _ actual: [JSONValue]) -> Bool {
        if rule == "count" { return expected.intValue == actual.count }
        return found(rule, expected.arrayValue ?? [], actual) != nil
    }

    /// Returns the elements of the actual list that match a rule; `nil` if the list does not.
    private func found(_ rule: String, _ expected: [JSONValue], _ actual: [JSONValue]) -> [JSONValue]? {
        switch rule {
        case "includes":
            var rest = actual[...]
            return expected.reduce(into: Optional([])) { found, element in
                guard let index = rest.firstIndex(where: { fits(element, $0) }) else { return found = nil }
                found?.append(rest[index])
                rest = rest[(index + 1)...]
            }
        default:
            let part = Array(rule == "last" ? actual.suffix(expected.count) : actual.prefix(expected.count))
            return part.count == expected.count && zip(expected, part).allSatisfy { fits($0, $1) } ? part : nil
        }
    }

    private static func isSameInstant(_ text: String, _ other: String) -> Bool {
        guard let date = RFC3339.date(from: text), let otherDate = RFC3339.date(from: other) else { return false }
        return date == otherDate
    }

    /// Whether a member contains the id of a transaction, or the token of a purchase on Google Play. The scenario may have
    /// the name of a step instead.
    static func isNamed(_ member: String) -> Bool {
        member.hasSuffix("ransactionID") || member.hasSuffix("ransactionId") || member.hasSuffix("urchaseToken")
    }

    /// Names the matched transactions that have a member `as`.
    private mutating func name(_ expected: JSONValue, _ actual: JSONValue) {
        switch (expected, actual) {
        case (.array(let elements), .array(let actualElements)):
            for (element, one) in zip(elements, actualElements) { name(element, one) }
        case (.object(let rules), .array(let actualElements)):
            for (rule, value) in rules {
                guard let elements = value.arrayValue, let found = found(rule, elements, actualElements) else {
                    continue
                }
                name(value, .array(found))
            }
        case (.object(let members), .object(let actualMembers)):
            for (member, value) in members {
                if member == "as", let name = value.stringValue {
                    names[name] = actualMembers["transactionID"]?.stringValue
                } else if let inner = actualMembers[member] {
                    self.name(value, inner)
                }
            }
        default: break
        }
    }

    private func lines(_ expected: JSONValue, _ actual: JSONValue) -> [Line] {
        switch (expected, actual) {
        case (.array(let elements), .array(let actualElements)): listLines(elements, actualElements)
        case (.object(let rules), .array(let actualElements)):
            rules.flatMap { rule, value -> [Line] in
                guard !fits(rule: rule, value, actualElements) else { return [] }
                let elements = value.arrayValue ?? []
                switch rule {
                case "count": return [.expected("count \(value.text())"), .actual("count \(actualElements.count)")]
                case "last": return listLines(elements, Array(actualElements.suffix(elements.count)))
                case "first": return listLines(elements, Array(actualElements.prefix(elements.count)))
                default: return listLines(elements, actualElements, allowsOthers: true)
                }
            }
        case (.object(let members), .object(let actualMembers)):
            members.filter { !fits($0.value, actualMembers[$0.key], $0.key) }.flatMap { member, value -> [Line] in
                [
                    .expected("\(member): \(text(value))"),
                    .actual("\(member): \(text(Self.cut(actualMembers[member] ?? .null, to: value), member))"),
                ]
            }
        default: [.expected(text(expected)), .actual(text(actual))]
        }
    }

    /// Returns the lines of two aligned lists.
    private func listLines(_ expected: [JSONValue], _ actual: [JSONValue], allowsOthers: Bool = false) -> [Line] {
        let expectedMembers = expected.reduce(into: JSONMembers()) { all, element in
            guard case .object(let members) = element else { return }
            for (name, value) in members where name != "as" { all[name] = value }
        }
        var lines: [Line] = []
        var (missing, others): ([JSONValue], [JSONValue]) = ([], [])
        func flush() {
            lines += missing.map { .expected(text($0)) }
            for (index, other) in others.enumerated() {
                let model = index < missing.count ? missing[index] : .object(expectedMembers)
                let cut = text(Self.cut(other, to: model))
                lines.append(allowsOthers ? .same(cut) : .actual(cut))
            }
            (missing, others) = ([], [])
        }
        for step in Alignment(expected.count, actual.count, { fits(expected[$0], actual[$1]) }).steps {
            switch step {
            case .missing(let index): missing.append(expected[index])
            case .other(let index): others.append(actual[index])
            case .pair(let index, _):
                flush()
                lines.append(.same(text(expected[index])))
            }
        }
        flush()
        return lines
    }

    /// Returns the members of `actual` that `expected` has. For an object without expected members, it keeps a few that
    /// identify it.
    private static func cut(_ actual: JSONValue, to expected: JSONValue) -> JSONValue {
        switch (actual, expected) {
        case (.object(let actualMembers), .object(let members)):
            let wanted = members.filter { $0.key != "as" }
            guard !wanted.isEmpty else {
                let identifying = ["type", "subtype", "account", "productID", "state", "status", "result", "name"]
                return .object(
                    JSONMembers(actualMembers.filter { identifying.contains($0.key) }.map { ($0.key, $0.value) }))
            }
            return .object(JSONMembers(wanted.map { ($0.key, cut(actualMembers[$0.key] ?? .null, to: $0.value)) }))
        case (.array(let actualElements), .array(let elements)):
            return .array(
                actualElements.enumerated().map {
                    cut($1, to: $0 < elements.count ? elements[$0] : elements.last ?? .null)
                })
        default: return actual
        }
    }

    /// Returns one line, with names instead of ids.
    private func text(_ value: JSONValue, _ member: String = "") -> String {
        let text = named(value, member).text()
        return text.count > 1000 ? text.prefix(1000) + "…" : text
    }

    private func named(_ value: JSONValue, _ member: String) -> JSONValue {
        switch value {
        case .object(let members):
            return .object(JSONMembers(members.filter { $0.key != "as" }.map { ($0.key, named($0.value, $0.key)) }))
        case .array(let elements): return .array(elements.map { named($0, member) })
        case .string(let text) where Self.isNamed(member):
            return .string(names.first { $0.value == text }?.key ?? text)
        case .number(let number) where member.hasSuffix("Date"):
            return number.double.map { .string(RFC3339.string(from: Date(timeIntervalSince1970: $0 / 1000))) } ?? value
        default: return value
        }
    }
}

/// The alignment of two lists: their longest common subsequence, and the elements between its pairs.
struct Alignment {
    enum Step: Hashable {
        case pair(Int, Int)
        /// An element of the first list only.
        case missing(Int)
        /// An element of the second list only.
        case other(Int)
    }

    private(set) var steps: [Step] = []

    /// The maximum number of comparisons. Longer lists are only compared from both ends.
    private static let limit = 1_000_000

    init(_ count: Int, _ others: Int, _ fits: (Int, Int) -> Bool) {
        var (start, end) = (0, 0)
        while start < min(count, others), fits(start, start) { start += 1 }
        while end < min(count, others) - start, fits(count - 1 - end, others - 1 - end) { end += 1 }
        steps += (0..<start).map { .pair($0, $0) }
        steps += Self.middle(start..<count - end, start..<others - end, fits)
        steps += (0..<end).reversed().map { .pair(count - 1 - $0, others - 1 - $0) }
    }

    private static func middle(_ first: Range<Int>, _ second: Range<Int>, _ fits: (Int, Int) -> Bool) -> [Step] {
        guard !first.isEmpty, !second.isEmpty, first.count * second.count <= limit else {
            return first.map { .missing($0) } + second.map { .other($0) }
        }
        let width = second.count + 1
        var table = [Int32](repeating: 0, count: (first.count + 1) * width)
        var pairs = [Bool](repeating: false, count: first.count * second.count)
        for row in first.indices.reversed().map({ $0 - first.lowerBound }) {
            for column in second.indices.reversed().map({ $0 - second.lowerBound }) {
                let fit = fits(first.lowerBound + row, second.lowerBound + column)
                pairs[row * second.count + column] = fit
                let (here, below) = (row * width + column, (row + 1) * width + column)
                table[here] = fit ? table[below + 1] + 1 : max(table[below], table[here + 1])
            }
        }
        var (row, column, steps) = (0, 0, [Step]())
        while row < first.count, column < second.count {
            if pairs[row * second.count + column] {
                steps.append(.pair(first.lowerBound + row, second.lowerBound + column))
                (row, column) = (row + 1, column + 1)
            } else if table[(row + 1) * width + column] >= table[row * width + column + 1] {
                steps.append(.missing(first.lowerBound + row))
                row += 1
            } else {
                steps.append(.other(second.lowerBound + column))
                column += 1
            }
        }
        steps += (row..<first.count).map { .missing(first.lowerBound + $0) }
        return steps + (column..<second.count).map { .other(second.lowerBound + $0) }
    }
}
