import Foundation
import Primitives
import StoreModel

/// The faults of a file with retention rules, each with its place.
package struct RetentionRulesError: Error, Hashable {
    package struct Finding: Sendable, Hashable {
        /// A JSON pointer (RFC 6901). It is empty for the document itself.
        package let pointer: String
        /// The instruction what to write there, in words that follow the pointer and a colon.
        package let reason: String
    }

    package let findings: [Finding]
}

extension RetentionRules {
    /// The largest number of rules.
    private static let limit = 1000

    /// Creates rules from a file. Throws all faults of the file.
    package init(json: JSONValue) throws(RetentionRulesError) {
        var reader = RetentionRulesReader()
        let document = reader.object(json, at: "", members: ["rules"])
        let elements = document?["rules"]?.arrayValue ?? []
        if document != nil, !(1...Self.limit).contains(elements.count) {
            reader.report("/rules", "write a list of 1 to \(Self.limit) rules")
        }
        var rules: [Rule] = []
        var names: Set<ExactString> = []
        for (index, element) in elements.enumerated().prefix(Self.limit) {
            let pointer = "/rules/\(index)"
            guard let rule = reader.rule(element, at: pointer) else { continue }
            if !names.insert(ExactString(rule.name)).inserted {
                reader.report("\(pointer)/name", "another rule has this name; give each rule its own")
            }
            if let last = rules.first(where: \.isUnconditional) {
                reader.report(pointer, "this rule has no effect, because \"\(last.name)\" before it always matches")
            }
            rules.append(rule)
        }
        guard reader.findings.isEmpty else { throw RetentionRulesError(findings: reader.findings) }
        self.init(rules: rules)
    }
}

/// Reads the values of a file and collects its faults.
private struct RetentionRulesReader {
    private(set) var findings: [RetentionRulesError.Finding] = []

    mutating func report(_ pointer: String, _ reason: String) {
        findings.append(.init(pointer: pointer, reason: reason))
    }

    /// Returns the members of an object. Reports another kind of value, and unknown members.
    mutating func object(_ value: JSONValue?, at pointer: String, members names: [String]) -> JSONMembers? {
        guard case .object(let members)? = value else {
            report(pointer, "write an object with \(Self.list(names))")
            return nil
        }
        for (name, _) in members where !names.contains(where: { $0.hasSameBytes(as: name) }) {
            report(
                JSONPointer.member(name, of: pointer), "there is no such member; write \(Self.list(names))")
        }
        return members
    }

    private static func list(_ names: [String]) -> String {
        names.count == 1 ? names[0] : names.dropLast().joined(separator: ", ") + " or " + names[names.count - 1]
    }

    // MARK: - Rules

    mutating func rule(_ value: JSONValue, at pointer: String) -> RetentionRules.Rule? {
        guard let members = object(value, at: pointer, members: ["name", "when", "answer"]) else { return nil }
        let name = name(members["name"], at: "\(pointer)/name")
        let condition = condition(members["when"], at: "\(pointer)/when")
        let answer = answer(members["answer"], at: "\(pointer)/answer")
        guard let name, let condition, let answer else { return nil }
        if case .alternateProduct(let product, _) = answer, condition.products == [product] {
            report("\(pointer)/answer/alternateProduct/productId", "write another product than the one in \"when\"")
        }
        return .init(name: name, condition: condition, answer: answer)
    }

    /// Reads a name. It is ASCII, because it is written to the log.
    private mutating func name(_ value: JSONValue?, at pointer: String) -> String? {
        guard let text = value?.stringValue, (1...100).contains(text.utf8.count),
            text.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
        else {
            report(pointer, "write a name of 1 to 100 ASCII characters")
            return nil
        }
        return text
    }

    private mutating func condition(_ value: JSONValue?, at pointer: String) -> RetentionRules.Condition? {
        var condition = RetentionRules.Condition()
        guard let value else { return condition }
        let names = [
            "products", "locales", "environment", "daysSubscribed", "paidPeriods", "usedIntroductoryOffer",
            "usedPromotionalOffer",
        ]
        guard let members = object(value, at: pointer, members: names) else { return nil }
        for (name, value) in members {
            let pointer = "\(pointer)/\(name)"
            switch name {
            case "products":
                condition.products = list(value, at: pointer, of: "product ids") { ProductID(rawValue: $0) }.map(
                    Set.init)
            case "locales":
                condition.locales = list(value, at: pointer, of: "languages such as \"en\" or \"pt-BR\"") {
                    LanguageRange($0)
                }
            case "environment":
                condition.environment = choice(value, at: pointer, among: ["production", "sandbox"]).map {
                    StoreEnvironment(rawValue: $0)
                }
            case "daysSubscribed": condition.daysSubscribed = range(value, at: pointer)
            case "paidPeriods": condition.paidPeriods = range(value, at: pointer)
            case "usedIntroductoryOffer": condition.usedIntroductoryOffer = flag(value, at: pointer)
            case "usedPromotionalOffer": condition.usedPromotionalOffer = flag(value, at: pointer)
            default: break
            }
        }
        return condition
    }

    private mutating func list<Element: Hashable>(
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

    private mutating func range(_ value: JSONValue, at pointer: String) -> ClosedRange<Int>? {
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

    private mutating func flag(_ value: JSONValue, at pointer: String) -> Bool? {
        guard let flag = value.boolValue else {
            report(pointer, "write true or false")
            return nil
        }
        return flag
    }

    private mutating func choice(_ value: JSONValue, at pointer: String, among choices: [String]) -> String? {
        guard let text = value.stringValue, let choice = choices.first(where: { $0.hasSameBytes(as: text) }) else {
            report(pointer, "write \(choices.map { "\"\($0)\"" }.joined(separator: " or "))")
            return nil
        }
        return choice
    }

    // MARK: - Answers

    private mutating func answer(_ value: JSONValue?, at pointer: String) -> RetentionRules.Answer? {
        if value == "none" { return .noMessage }
        let kinds = ["message", "alternateProduct", "promotionalOffer"]
        guard case .object(let members)? = value, members.count == 1, kinds.contains(members.keys[0]) else {
            report(pointer, "write an object with one of \(Self.list(kinds)), or \"none\" for the default message")
            return nil
        }
        let (kind, value) = members[0]
        let place = "\(pointer)/\(kind)"
        switch kind {
        case "message":
            guard let members = object(value, at: place, members: ["messageIdentifier"]) else { return nil }
            return message(members, at: place).map { .message($0) }
        case "alternateProduct":
            guard let members = object(value, at: place, members: ["messageIdentifier", "productId"]) else {
                return nil
            }
            let message = message(members, at: place)
            guard let product = members["productId"]?.stringValue.flatMap({ ProductID(rawValue: $0) }) else {
                report("\(place)/productId", "write a product id of the same subscription group")
                return nil
            }
            return message.map { .alternateProduct(product, message: $0) }
        default:
            let names = ["messageIdentifier", "offerIdentifier", "signature"]
            guard let members = object(value, at: place, members: names) else { return nil }
            let message = message(members, at: place)
            let offer = members["offerIdentifier"]?.stringValue ?? ""
            if !ProductID.isValid(offer) || offer.unicodeScalars.contains("\u{2063}") {
                report("\(place)/offerIdentifier", "write the identifier of a promotional offer of the product")
            }
            let versions = RetentionRules.SignatureVersion.allCases.map(\.rawValue)
            let version = members["signature"].map { choice($0, at: "\(place)/signature", among: versions) } ?? "V2"
            guard let message, let version = version.flatMap(RetentionRules.SignatureVersion.init(rawValue:)) else {
                return nil
            }
            return .promotionalOffer(offer, message: message, version)
        }
    }

    private mutating func message(_ members: JSONMembers, at pointer: String) -> UUID? {
        guard let id = members["messageIdentifier"]?.stringValue.flatMap(UUID.init(text:)) else {
            report("\(pointer)/messageIdentifier", "write the UUID under which you uploaded the message")
            return nil
        }
        return id
    }
}
