import Foundation
import Primitives
import StoreModel

/// What a JSON value on the wire looks like. The same value writes itself as JSON Schema (2020-12, as OpenAPI 3.1 has it)
/// and judges, so what the document says is what is refused.
struct WireSchema: Sendable {
    /// As it stands in the document.
    private(set) var json: JSONValue
    /// The named schemas it refers to.
    private(set) var models: [any WireModel.Type] = []
    /// The first thing in a value that does not fit.
    let violation: @Sendable (JSONValue) -> Violation?

    struct Violation: Error, Hashable, Sendable {
        /// From the outermost member in.
        var path: [String] = []
        /// What it should be, to go on after "should be".
        var rule: String

        func below(_ name: String) -> Violation { Violation(path: [name] + path, rule: rule) }
    }

    init(
        _ json: JSONValue, models: [any WireModel.Type] = [], violation: @escaping @Sendable (JSONValue) -> Violation?
    ) {
        self.json = json
        self.models = models
        self.violation = violation
    }

    /// A schema that holds where `isValid` does.
    private init(_ json: JSONValue, _ rule: String, _ isValid: @escaping @Sendable (JSONValue) -> Bool) {
        self.init(json) { isValid($0) ? nil : Violation(rule: rule) }
    }

    /// The same with a sentence about what it means.
    func described(_ text: String) -> WireSchema {
        var copy = self
        // Beside a reference, 3.1 allows a description too.
        copy.json["description"] = .string(text)
        return copy
    }

    func example(_ value: JSONValue) -> WireSchema {
        var copy = self
        copy.json["examples"] = [value]
        return copy
    }
}

/// A type with a schema of its own name.
protocol WireModel: SendableMetatype {
    static var schemaName: String { get }
    static var schema: WireSchema { get }
}

// MARK: - Kinds

extension WireSchema {
    static let text = WireSchema(["type": "string"], "a text") { $0.stringValue != nil }
    static let flag = WireSchema(["type": "boolean"], "true or false") { $0.boolValue != nil }
    static let any = WireSchema([:]) { _ in nil }
    /// Any object.
    static let object = WireSchema(["type": "object"], "an object") { $0.objectValue != nil }

    /// A text that `isValid` accepts; `pattern` says the same as a regular expression.
    static func text(
        _ rule: String, pattern: String? = nil, format: String? = nil, length: ClosedRange<Int>? = nil,
        _ isValid: @escaping @Sendable (String) -> Bool
    ) -> WireSchema {
        var json: JSONValue = ["type": "string"]
        if let format { json["format"] = .string(format) }
        if let pattern { json["pattern"] = .string(pattern) }
        if let length {
            json["minLength"] = .number(length.lowerBound)
            json["maxLength"] = .number(length.upperBound)
        }
        return WireSchema(json, rule) { $0.stringValue.map(isValid) ?? false }
    }

    static func choice(_ texts: [String]) -> WireSchema {
        WireSchema(
            ["type": "string", "enum": .array(texts.map { .string($0) })], "one of \(texts.joined(separator: ", "))"
        ) { $0.stringValue.map(texts.contains) ?? false }
    }

    static func choice<Choice: RawRepresentable & CaseIterable>(_: Choice.Type) -> WireSchema
    where Choice.RawValue == String { choice(Choice.allCases.map(\.rawValue)) }

    static func integer(_ range: ClosedRange<Int>) -> WireSchema {
        WireSchema(
            ["type": "integer", "minimum": .number(range.lowerBound), "maximum": .number(range.upperBound)],
            "a whole number from \(range.lowerBound) to \(range.upperBound)"
        ) { $0.intValue.map(range.contains) ?? false }
    }

    /// A whole number of 64 bits.
    static let integer = integer(-(1 << 53)...(1 << 53))

    static func number(_ range: ClosedRange<Double>, above: Bool = false) -> WireSchema {
        WireSchema(
            [
                "type": "number", above ? "exclusiveMinimum" : "minimum": .number(range.lowerBound),
                "maximum": .number(range.upperBound),
            ], "a number \(above ? "above" : "from") \(Int(range.lowerBound)) to \(Int(range.upperBound))"
        ) { $0.doubleValue.map { range.contains($0) && !(above && $0 == range.lowerBound) } ?? false }
    }

    static func array(_ element: WireSchema) -> WireSchema {
        WireSchema(["type": "array", "items": element.json], models: element.models) { value in
            guard let elements = value.arrayValue else { return Violation(rule: "an array") }
            return elements.enumerated().lazy.compactMap { element.violation($1)?.below("\($0)") }.first
        }
    }

    /// A schema of its own name.
    static func of(_ model: any WireModel.Type) -> WireSchema {
        WireSchema(["$ref": .string("#/components/schemas/\(model.schemaName)")], models: [model]) {
            model.schema.violation($0)
        }
    }

    static func array(of model: any WireModel.Type) -> WireSchema { array(of(model)) }

    // MARK: - Objects

    struct Member: Sendable {
        let name: String
        let schema: WireSchema
        let isRequired: Bool
    }

    /// An object of these members; others are passed over. `exactlyOne` of the members named must be there.
    static func object(_ members: [Member], exactlyOne: [String] = []) -> WireSchema {
        let required = members.filter(\.isRequired).map(\.name)
        var json: JSONValue = [
            "type": "object", "properties": .object(JSONMembers(members.map { ($0.name, $0.schema.json) })),
        ]
        if !required.isEmpty { json["required"] = .array(required.map { .string($0) }) }
        if !exactlyOne.isEmpty {
            json["oneOf"] = .array(exactlyOne.map { ["required": [.string($0)]] })
        }
        return WireSchema(json, models: members.flatMap(\.schema.models)) { value in
            guard case .object(let given) = value else { return Violation(rule: "an object") }
            for member in members {
                if let value = given[member.name] {
                    if let violation = member.schema.violation(value) { return violation.below(member.name) }
                } else if member.isRequired {
                    return Violation(path: [member.name], rule: "there")
                }
            }
            guard exactlyOne.isEmpty || exactlyOne.count(where: { given[$0] != nil }) == 1 else {
                return Violation(rule: "exactly one of \(exactlyOne.joined(separator: " and "))")
            }
            return nil
        }
    }
}

extension WireSchema.Member {
    static func required(_ name: String, _ schema: WireSchema) -> Self {
        Self(name: name, schema: schema, isRequired: true)
    }
    static func optional(_ name: String, _ schema: WireSchema) -> Self {
        Self(name: name, schema: schema, isRequired: false)
    }
}

// MARK: - The store's own kinds

extension WireSchema {
    /// A name of an account, a product, a transaction and so on. JSON Schema counts characters, the simulator bytes.
    static let name = text(
        ProductID.rule, pattern: #"^[^\u0000-\u001F\u007F-\u009F]+$"#, length: 1...255, ProductID.isValid)
    static let date = text("a date of RFC 3339 such as \"2026-11-20T14:40:00Z\"", format: "date-time") {
        RFC3339.date(from: $0) != nil
    }
    static let uuid = text(
        "a UUID", pattern: "^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$", format: "uuid"
    ) { UUID(uuidString: $0) != nil }
    static let period = text(
        "one component of ISO 8601 such as \"P1M\"", pattern: "^P([1-9][0-9]{0,3}[DWMY]|T[1-9][0-9]{0,3}[HMS])$"
    ) { text in
        SubscriptionPeriod(iso8601: text).map { $0.value < 10_000 && $0.iso8601 == text } ?? false
    }.example("P1M")
    static let storefront = text("a country's store such as USA", pattern: "^[A-Z]{3}$") {
        $0.utf8.count == 3 && $0.utf8.allSatisfy { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }
    }.example("USA")
    static let amount = text("an amount of money such as \"4.99\"", pattern: #"^-?[0-9]+(\.[0-9]+)?$"#) {
        JSONNumber(text: $0) != nil && !$0.utf8.contains { $0 | 0x20 == UInt8(ascii: "e") }
    }
    /// An amount that something is sold for: at most six digits and three decimals.
    static let price = text("a price such as \"4.99\"", pattern: #"^(0|[1-9][0-9]{0,5})(\.[0-9]{1,3})?$"#) { text in
        let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        let areDigits = parts.allSatisfy { $0.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } }
        return areDigits && (1...2).contains(parts.count) && (1...6).contains(parts[0].count)
            && (parts[0].count == 1 || parts[0].first != UInt8(ascii: "0"))
            && (parts.count == 1 || (1...3).contains(parts[1].count))
    }.example("5.99")
    /// Padded and canonical.
    static let base64 = text(
        "base64",
        pattern: "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$"
    ) { text in Base64.decode(text).map { Base64.encode($0) == text } ?? false }
    /// What a setting is set to.
    static let scalar = WireSchema(
        ["type": ["string", "boolean", "number"]], "a text, a number, true or false"
    ) { $0.stringValue != nil || $0.boolValue != nil || $0.doubleValue != nil }
}
