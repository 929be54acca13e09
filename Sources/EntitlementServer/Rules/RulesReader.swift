import Primitives
import StoreModel

/// The faults of a file with rules, each with its place.
package struct RulesError: Error, Hashable {
    package struct Finding: Sendable, Hashable {
        /// A JSON pointer (RFC 6901). It is empty for the document itself.
        package let pointer: String
        /// The instruction what to write there, in words that follow the pointer and a colon.
        package let reason: String
    }

    package let findings: [Finding]
}

/// Reads the values of a file with rules, and collects its faults.
struct RulesReader {
    private(set) var findings: [RulesError.Finding] = []

    mutating func report(_ pointer: String, _ reason: String) {
        findings.append(.init(pointer: pointer, reason: reason))
    }

    /// Returns the members of an object. Reports another kind of value, and unknown members.
    mutating func object(_ value: JSONValue?, at pointer: String, members names: [String]) -> JSONMembers? {
        guard case .object(let members)? = value else {
            report(pointer, "write an object with \(Self.alternatives(names))")
            return nil
        }
        for (name, _) in members where !names.contains(where: { $0.hasSameBytes(as: name) }) {
            report(
                JSONPointer.member(name, of: pointer), "there is no such member; write \(Self.alternatives(names))")
        }
        return members
    }

    static func alternatives(_ names: [String]) -> String {
        names.count == 1 ? names[0] : names.dropLast().joined(separator: ", ") + " or " + names[names.count - 1]
    }

    mutating func list<Element: Hashable>(
        _ value: JSONValue, at pointer: String, of what: String, _ read: (String) -> Element?
    ) -> [Element]? {
        guard let elements = value.arrayValue, !elements.isEmpty else {
            report(pointer, "write a list of \(what)")
            return nil
        }
        var found: [Element] = []
        for (index, element) in elements.enumerated() {
            guard let element = element.stringValue.flatMap(read) else {
                report("\(pointer)/\(index)", "write one of the \(what) as a string")
                continue
            }
            if found.contains(element) { report("\(pointer)/\(index)", "this element is in the list twice") }
            found.append(element)
        }
        return found
    }

    mutating func range(_ value: JSONValue, at pointer: String) -> ClosedRange<Int>? {
        guard let members = object(value, at: pointer, members: ["min", "max"]) else { return nil }
        let bounds = ["min", "max"].map { name in
            guard let value = members[name] else { return name == "min" ? 0 : Int.max }
            guard let number = value.intValue, (0...1_000_000).contains(number) else {
                report("\(pointer)/\(name)", "write a whole number from 0 to 1000000")
                return name == "min" ? 0 : Int.max
            }
            return number
        }
        guard !members.isEmpty, bounds[0] <= bounds[1] else {
            report(pointer, "write \"min\", \"max\" or both, \"min\" not above \"max\"")
            return nil
        }
        return bounds[0]...bounds[1]
    }

    mutating func flag(_ value: JSONValue, at pointer: String) -> Bool? {
        guard let flag = value.boolValue else {
            report(pointer, "write true or false")
            return nil
        }
        return flag
    }

    mutating func choice(_ value: JSONValue, at pointer: String, among choices: [String]) -> String? {
        guard let text = value.stringValue, let choice = choices.first(where: { $0.hasSameBytes(as: text) }) else {
            report(pointer, "write \(choices.map { "\"\($0)\"" }.joined(separator: " or "))")
            return nil
        }
        return choice
    }

    mutating func environment(_ value: JSONValue, at pointer: String) -> StoreEnvironment? {
        choice(value, at: pointer, among: ["production", "sandbox"]).map { StoreEnvironment(rawValue: $0) }
    }

    /// Reads the identifier of a promotional offer. U+2063 separates the fields of a signature.
    mutating func offerIdentifier(_ value: JSONValue?, at pointer: String) -> String? {
        guard let id = value?.stringValue, ProductID.isValid(id), !id.unicodeScalars.contains("\u{2063}") else {
            report(pointer, "write the identifier of a promotional offer of the product")
            return nil
        }
        return id
    }

    /// Reads one of `HistoryCondition.members`.
    mutating func history(
        _ value: JSONValue, named name: String, at pointer: String, into condition: inout HistoryCondition
    ) {
        switch name {
        case "daysSubscribed": condition.daysSubscribed = range(value, at: pointer)
        case "paidPeriods": condition.paidPeriods = range(value, at: pointer)
        case "usedIntroductoryOffer": condition.usedIntroductoryOffer = flag(value, at: pointer)
        case "usedPromotionalOffer": condition.usedPromotionalOffer = flag(value, at: pointer)
        default: break
        }
    }
}
