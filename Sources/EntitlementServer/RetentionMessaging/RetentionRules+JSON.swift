import Foundation
import Primitives
import StoreModel

extension RetentionRules {
    /// The largest number of rules.
    private static let limit = 1000

    /// Creates rules from a file. Throws all faults of the file.
    package init(json: JSONValue) throws(RulesError) {
        var reader = RulesReader()
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
        guard reader.findings.isEmpty else { throw RulesError(findings: reader.findings) }
        self.init(rules: rules)
    }
}

extension RulesReader {
    fileprivate mutating func rule(_ value: JSONValue, at pointer: String) -> RetentionRules.Rule? {
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
        let names = ["products", "locales", "environment"] + HistoryCondition.members
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
            case "environment": condition.environment = environment(value, at: pointer)
            default: history(value, named: name, at: pointer, into: &condition.history)
            }
        }
        return condition
    }

    // MARK: - Answers

    private mutating func answer(_ value: JSONValue?, at pointer: String) -> RetentionRules.Answer? {
        if value == "none" { return .noMessage }
        let kinds = ["message", "alternateProduct", "promotionalOffer"]
        guard case .object(let members)? = value, members.count == 1, kinds.contains(members.keys[0]) else {
            report(
                pointer, "write an object with one of \(Self.alternatives(kinds)), or \"none\" for the default message")
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
            let offer = offerIdentifier(members["offerIdentifier"], at: "\(place)/offerIdentifier")
            let versions = RetentionRules.SignatureVersion.allCases.map(\.rawValue)
            let version = members["signature"].map { choice($0, at: "\(place)/signature", among: versions) } ?? "V2"
            guard let message, let offer, let version = version.flatMap(RetentionRules.SignatureVersion.init(rawValue:))
            else {
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
