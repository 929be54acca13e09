import Foundation
import Primitives

extension Scenario {
    /// The results of a run of a scenario.
    public struct Report: Sendable, Hashable {
        /// The file name of the scenario.
        public let file: String
        /// The name of the scenario.
        public let name: String
        package var steps: [Step]

        /// Whether all steps had the expected results.
        public var holds: Bool { steps.allSatisfy { $0.outcome == .passed } }

        /// The duration of the run, in seconds of real time.
        public var seconds: Double { steps.reduce(0) { $0 + $1.seconds } }
    }
}

extension Scenario.Report {
    package struct Step: Sendable, Hashable {
        /// The JSON Pointer of the step in the file (RFC 6901).
        package let pointer: String
        /// The action of the step, in one line.
        package let title: String
        /// The note of the file's author; can be empty.
        package let note: String
        package var outcome: Outcome
        /// The duration in seconds of real time.
        package var seconds: Double
    }

    /// The outcomes of a step. The set is closed.
    package enum Outcome: Sendable, Hashable {
        case passed
        case failed([Difference])
        /// The step was not run, because an earlier action failed.
        case skipped
    }

    /// A difference between expected and actual values.
    package struct Difference: Sendable, Hashable {
        /// The JSON Pointer of the expected value in the file (RFC 6901).
        package let pointer: String
        /// The subject that differs: `transactions`, `notifications`, …
        package let subject: String
        package let lines: [Line]
    }

    /// A line of a difference, as in `diff`.
    package struct Line: Sendable, Hashable {
        /// A line is expected, actual, or both. The set is closed.
        package enum Side: String, Sendable, Hashable {
            case same = " "
            case expected = "-"
            case actual = "+"
        }

        package let side: Side
        package let text: String

        static func same(_ text: String) -> Line { Line(side: .same, text: text) }
        static func expected(_ text: String) -> Line { Line(side: .expected, text: text) }
        static func actual(_ text: String) -> Line { Line(side: .actual, text: text) }
    }
}

extension Scenario.Report: CustomStringConvertible {
    /// One line, and the differences of each failed step: `-` is an expected line, `+` an actual one.
    public var description: String {
        let mark = holds ? "ok" : "FAILED"
        let count = "\(steps.count) step\(steps.count == 1 ? "" : "s")"
        let head = "\(mark): \(name) (\(file), \(count), \(Self.text(seconds)) s)"
        return ([head] + steps.enumerated().flatMap { lines(of: $1, number: $0 + 1) }).joined(separator: "\n")
    }

    private func lines(of step: Step, number: Int) -> [String] {
        guard case .failed(let differences) = step.outcome else { return [] }
        let note = step.note.isEmpty ? "" : "  (\(step.note))"
        return ["  step \(number) at \(step.pointer): \(step.title)\(note)"]
            + differences.flatMap { ["    \($0.subject)"] + $0.text.map { "    \($0)" } }
    }

    static func text(_ seconds: Double) -> String {
        let milliseconds = Int64((seconds * 1000).rounded())
        let digits = "\(milliseconds % 1000)"
        return "\(milliseconds / 1000)." + String(repeating: "0", count: 3 - digits.count) + digits
    }
}

extension Scenario.Report.Difference {
    /// The maximum number of lines. A longer difference is shown without its equal lines, and cut after this number.
    private static let limit = 60

    var text: [String] {
        let shown = lines.count <= Self.limit ? lines : lines.filter { $0.side != .same }
        let cut = shown.prefix(Self.limit).map { "\($0.side.rawValue) \($0.text)" }
        return shown.count > cut.count ? cut + ["  … and \(shown.count - cut.count) more lines"] : cut
    }
}

extension Scenario.Report {
    /// The report as JSON, as `souk scenario run --json` lists it.
    public var json: JSONValue {
        [
            "file": .string(file), "name": .string(name), "ok": .bool(holds), "seconds": .number(seconds),
            "steps": .array(steps.map(\.json)),
        ]
    }
}

extension Scenario.Report.Step {
    fileprivate var json: JSONValue {
        var value: JSONValue = [
            "pointer": .string(pointer), "title": .string(title), "ok": .bool(outcome == .passed),
            "skipped": .bool(outcome == .skipped), "seconds": .number(seconds),
        ]
        if !note.isEmpty { value["note"] = .string(note) }
        guard case .failed(let differences) = outcome else { return value }
        value["differences"] = .array(
            differences.map { difference in
                func texts(_ side: Scenario.Report.Line.Side) -> JSONValue {
                    .array(difference.lines.filter { $0.side == side }.map { .string($0.text) })
                }
                return [
                    "pointer": .string(difference.pointer), "subject": .string(difference.subject),
                    "expected": texts(.expected), "actual": texts(.actual), "same": texts(.same),
                ]
            })
        return value
    }
}
