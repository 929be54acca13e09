import Foundation
import Primitives
import StoreModel

/// The arguments after a command's words, checked against the command's options and operands. Options may be anywhere,
/// as `--name value` or `--name=value`; after `--` every argument is an operand.
struct Arguments: Sendable {
    let operands: [String]
    private let values: [String: [String]]
    private let switches: Set<String>
    private let command: Command

    /// Throws `UsageError` for an unknown option, a missing or repeated value, or a wrong number of operands.
    init(_ typed: [String], for command: Command) throws {
        var operands: [String] = []
        var values: [String: [String]] = [:]
        var switches: Set<String> = []
        var rest = typed[...]
        while let word = rest.popFirst() {
            if word == "--" {
                operands += rest
                break
            }
            guard word.hasPrefix("--") else {
                guard !word.hasPrefix("-") || word == "-" else {
                    throw Self.unknownOption(word, of: command)
                }
                operands.append(word)
                continue
            }
            let parts = word.dropFirst(2).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(parts[0])
            guard let option = command.options.first(where: { $0.name == name }) else {
                throw Self.unknownOption("--\(name)", of: command)
            }
            guard let valueName = option.value else {
                guard parts.count == 1 else { throw UsageError("--\(name) takes no value") }
                switches.insert(name)
                continue
            }
            guard let value = parts.count == 2 ? String(parts[1]) : rest.popFirst() else {
                throw UsageError("--\(name) needs a value: --\(name) \(valueName)")
            }
            guard option.repeats || values[name] == nil else { throw UsageError("--\(name) is given twice") }
            values[name, default: []].append(value)
        }
        let takesMany = command.operands.contains { $0.contains("…") }
        guard takesMany || operands.count <= command.operands.count else {
            throw UsageError("\(command.name) does not take \(operands[command.operands.count].quoted)")
        }
        let needed = command.operands.prefix { !$0.hasPrefix("[") }
        guard operands.count >= needed.count else {
            throw UsageError("\(command.name) needs \(needed[operands.count]); see \(command.name) --help")
        }
        guard operands.count(where: { $0 == "-" }) <= 1 else {
            throw UsageError("- is standard input, which can be read once only")
        }
        self.operands = operands
        self.values = values
        self.switches = switches
        self.command = command
    }

    private static func unknownOption(_ word: String, of command: Command) -> UsageError {
        let names = command.options.filter { !$0.isHidden }.map(\.name) + ["help"]
        let near = Suggestion.nearest(to: String(word.drop { $0 == "-" }), among: names).map { "--\($0)" }
        let suggestion = Suggestion.sentence(naming: near).map { ". \($0)" } ?? "; see \(command.name) --help"
        return UsageError("\(command.name) has no option \(word)\(suggestion)")
    }

    private init(_ other: Arguments, values: [String: [String]]) {
        operands = other.operands
        switches = other.switches
        command = other.command
        self.values = values
    }

    /// Returns these arguments with the values in `more` for options that were not given.
    func filled(with more: [String: [String]]) -> Arguments {
        Arguments(self, values: values.merging(more) { typed, _ in typed })
    }

    /// Returns these arguments with the values in `others` in place of those that were given.
    func replacing(with others: [String: [String]]) -> Arguments {
        Arguments(self, values: values.merging(others) { _, other in other })
    }

    /// Returns the options whose values differ, in alphabetical order.
    func options(differingFrom other: Arguments) -> [String] {
        Set(values.keys).union(other.values.keys).filter { values[$0] != other.values[$0] }.sorted()
    }

    /// The value of an option that takes one of several words. For any other value, throws a `UsageError` that lists
    /// the words.
    func choice<Choice: RawRepresentable & CaseIterable>(_ name: String) throws -> Choice?
    where Choice.RawValue == String {
        guard let text = text(name) else { return nil }
        if let choice = Choice(rawValue: text) { return choice }
        let names = Choice.allCases.map(\.rawValue)
        throw UsageError(
            "--\(name) is \(names.dropLast().joined(separator: ", ")) or \(names.last ?? ""), not \(text.quoted)")
    }

    func has(_ name: String) -> Bool { switches.contains(name) }
    func text(_ name: String) -> String? { values[name]?.first }
    func texts(_ name: String) -> [String] { values[name] ?? [] }

    func required(_ name: String) throws -> String {
        if let text = text(name) { return text }
        let value = command.options.first { $0.name == name }?.value.map { " \($0)" } ?? ""
        throw UsageError("\(command.name) needs --\(name)\(value)")
    }

    func integer(_ name: String, in range: ClosedRange<Int>) throws -> Int? {
        guard let text = text(name) else { return nil }
        guard let value = Int(text), range.contains(value) else {
            throw UsageError(
                "--\(name) is a whole number from \(range.lowerBound) to \(range.upperBound), not \(text.quoted)")
        }
        return value
    }

    func time(_ name: String) throws -> Date? {
        guard let text = text(name) else { return nil }
        guard let date = RFC3339.date(from: text) else {
            throw UsageError("--\(name) is a time such as 2026-11-20T14:40:00Z, not \(text.quoted)")
        }
        return date
    }

    func identifier<ID: Identifier>(_ name: String, as type: ID.Type = ID.self) throws -> ID? {
        guard let text = text(name) else { return nil }
        return try Self.identifier(text, called: "--\(name)")
    }

    static func identifier<ID: Identifier>(_ text: String, called what: String) throws -> ID {
        guard let value = ID(rawValue: text) else {
            throw UsageError("\(what) should have \(ID.rule)")
        }
        return value
    }

    /// Parses a duration: `90s`, `15m`, `6h`, `40d`, `1y`, or one ISO 8601 component such as `P1M`. Throws `UsageError`.
    static func period(_ text: String) throws -> SubscriptionPeriod {
        guard let period = SubscriptionPeriod(duration: text) else {
            throw UsageError("a duration is written 90s, 15m, 6h, 40d, 1y or P1M, not \(text.quoted)")
        }
        return period
    }
}
