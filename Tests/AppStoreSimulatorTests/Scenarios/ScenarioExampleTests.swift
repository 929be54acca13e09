import Foundation
import Primitives
import Testing

@testable import AppStoreSimulator

/// The scenarios in `Examples/Scenarios`.
struct ScenarioExampleTests {
    @Test func `at least ten scenarios are shipped`() {
        #expect(Scenarios.shipped.count >= 10)
    }

    @Test(arguments: Scenarios.shipped)
    func `a shipped scenario passes`(name: String) async throws {
        let file = "\(Scenarios.folder)/\(name)"
        let scenario = try Scenario(contentsOf: file)
        let report = try await scenario.run()
        #expect(report.holds, "\(report)")
        #expect(report.steps.count == scenario.steps.count)
    }

    @Test func `the guide's scenario passes, and fails as the guide shows after a change`() async throws {
        let guide = try String(
            contentsOfFile: Scenarios.folder + "/../../Documentation/Guides/Scenarios.md", encoding: .utf8)
        func block(_ language: String) throws -> String {
            let parts = guide.components(separatedBy: "```\(language)\n")
            return try #require(parts.dropFirst().first?.components(separatedBy: "```").first)
        }
        func run(_ text: String) async throws -> String {
            try await Scenario(parsing: Array(text.utf8), file: "refund.json", folder: Scenarios.folder).run()
                .description
        }
        let text = try block("json")
        #expect(try await run(text).hasPrefix("ok: "))
        let failure = try await run(text.replacingOccurrences(of: #""REFUND""#, with: #""REFUND_DECLINED""#))
        let shown = try block("text").split(separator: "\n").dropFirst().dropLast()
        #expect(failure.split(separator: "\n").dropFirst() == shown, "\(failure)")
    }

    @Test func `a repeated scenario has the same result, with the same transaction numbers`() async throws {
        let steps = """
            {"createAccount": "anna"}, {"buy": {"account": "anna", "productID": "coins"}},
            {"expect": {"account": "anna", "transactions": [{"transactionID": "1"}]}}
            """
        let first = try await Scenarios.run(steps).differences
        #expect(first.count == 1)
        let again = try await Scenarios.run(steps).differences
        #expect(again == first)
        let other = try await Scenarios.run(steps, #""seed": 7,"#).differences
        #expect(other != first)
    }

    /// Changes each kind of expected member once: in the first of the shipped scenarios that has it. One run has a
    /// change in several subjects; exactly these may differ.
    @Test(arguments: Scenarios.shipped)
    func `a scenario fails at a changed expectation, and not before`(name: String) async throws {
        var kinds = try Self.kinds(before: name)
        let document = try Self.document(name)
        let faults = Fault.all(in: document).filter { kinds.insert($0.kind).inserted }
        for planted in Fault.runs(faults) {
            let changed = try planted.reduce(document) { try $1.planted(in: $0) }
            let broken = try Scenario(parsing: changed.encoded(), file: name, folder: Scenarios.folder)
            let report = try await broken.run()
            let last = try #require(report.steps.firstIndex { $0.pointer == planted.last?.step })
            let failed = report.steps[...last].flatMap { step in
                if case .failed(let differences) = step.outcome { differences.map(\.pointer) } else { [] as [String] }
            }
            #expect(failed.sorted() == planted.map(\.subject).sorted(), "\(planted.map(\.pointer)): \(report)")
            #expect(!report.steps[...last].contains { $0.outcome == .skipped }, "\(report)")
        }
    }

    @Test func `the shipped scenarios expect more than forty kinds of members`() throws {
        #expect(try Self.kinds(before: nil).count > 40)
    }

    private static func document(_ name: String) throws -> JSONValue {
        let file = URL(fileURLWithPath: "\(Scenarios.folder)/\(name)")
        return try JSONValue(parsing: Array(try Data(contentsOf: file)))
    }

    /// Returns the kinds of expected members in the shipped scenarios before `name`; in all of them for `nil`.
    private static func kinds(before name: String?) throws -> Set<String> {
        let names = Scenarios.shipped.prefix { $0 != name }
        return Set(try names.flatMap { try Fault.all(in: document($0)).map(\.kind) })
    }
}

/// A change of one expected value in a scenario.
private struct Fault {
    let pointer: String
    /// The kind of the member: its pointer without numbers.
    let kind: String
    let value: JSONValue
    /// Whether later steps cannot pass: the run stops here, or a transaction stays without its name.
    var endsRun = false

    /// The pointer of its step.
    var step: String { head(2) }

    /// The pointer of the difference that it causes: of the expected subject, or of a step that should be refused.
    var subject: String { head(4) == "\(step)/refused" ? step : head(4) }

    private func head(_ count: Int) -> String {
        "/" + pointer.split(separator: "/").prefix(count).joined(separator: "/")
    }

    /// Divides faults, which are in the order of their subjects, into runs: a run has one fault of a subject, and none
    /// after one that ends it.
    static func runs(_ faults: [Fault]) -> [[Fault]] {
        faults.reduce(into: []) { runs, fault in
            let free = runs.firstIndex { run in
                run.last.map { !$0.endsRun && $0.subject != fault.subject } ?? false
            }
            if let free { runs[free].append(fault) } else { runs.append([fault]) }
        }
    }

    static func all(in document: JSONValue) -> [Fault] {
        (document["steps"]?.arrayValue ?? []).enumerated().flatMap { index, step -> [Fault] in
            let here = "/steps/\(index)"
            let refusal = step["refused"].map { _ in
                Fault(pointer: "\(here)/refused", kind: "refused", value: "somethingElse", endsRun: true)
            }
            let qualifiers = ["account", "transaction", "purchase", "family"]
            let subjects = step["expect"]?.objectValue?.filter { !qualifiers.contains($0.key) } ?? [:]
            return (refusal.map { [$0] } ?? [])
                + subjects.sorted { $0.key < $1.key }.flatMap { name, value in
                    let givesName = givesName(value)
                    return all(of: value, at: "\(here)/expect/\(name)", name).map { fault in
                        var fault = fault
                        fault.endsRun = givesName
                        return fault
                    }
                }
        }
    }

    /// Whether an expected value gives a transaction its name.
    private static func givesName(_ value: JSONValue) -> Bool {
        switch value {
        case .object(let members): members.contains { $0.key == "as" || givesName($0.value) }
        case .array(let elements): elements.contains(where: givesName)
        default: false
        }
    }

    private static func all(of value: JSONValue, at pointer: String, _ kind: String) -> [Fault] {
        func fault(_ kind: String, _ value: JSONValue) -> Fault { Fault(pointer: pointer, kind: kind, value: value) }
        switch value {
        case .object(let members):
            return members.filter { $0.key != "as" }.flatMap {
                all(of: $0.value, at: "\(pointer)/\($0.key)", "\(kind)/\($0.key)")
            }
        case .array(let elements):
            let inner = elements.enumerated().flatMap { all(of: $1, at: "\(pointer)/\($0)", kind + "/-") }
            guard !["first", "last", "includes"].contains(where: kind.hasSuffix) else { return inner }
            let fewer = elements.isEmpty ? [] : [fault(kind + "-", .array(elements.dropLast()))]
            return inner + fewer + [fault(kind + "+", .array(elements + [[:]]))]
        case .string(let text):
            if let date = RFC3339.date(from: text) {
                return [fault(kind, .string(RFC3339.string(from: date.addingTimeInterval(1))))]
            }
            let isNumber = ScenarioMatch.isNamed(kind)
            return [fault(kind, .string(isNumber ? "77" : text + "X"))]
        case .number(let number): return [fault(kind, .number((number.int ?? 0) + 1))]
        case .bool(let flag): return [fault(kind, .bool(!flag))]
        case .null: return [fault(kind + "?", "something")]
        }
    }

    func planted(in document: JSONValue) throws -> JSONValue {
        func plant(_ steps: ArraySlice<String>, in value: JSONValue) -> JSONValue {
            guard let step = steps.first else { return self.value }
            switch value {
            case .array(var elements):
                if let index = Int(step) { elements[index] = plant(steps.dropFirst(), in: elements[index]) }
                return .array(elements)
            default:
                var value = value
                value[step] = plant(steps.dropFirst(), in: value[step] ?? .null)
                return value
            }
        }
        return plant(try #require(JSONPointer.steps(pointer))[...], in: document)
    }
}
