import Primitives

/// A schema of a JSON value. It validates values and writes itself as JSON Schema (2020-12, as in OpenAPI 3.1), so the
/// document agrees with the validation.
///
///     let price = WireSchema.object([.required("amount", .amount), .required("currency", .text)])
///     price.violation(["amount": "4.99"])?.path    // ["currency"]
package struct WireSchema: Sendable {
    /// The schema as JSON Schema.
    package private(set) var json: JSONValue
    /// The named schemas that this one refers to.
    package private(set) var named: [Named] = []
    /// Returns the first violation in a value, or `nil` for a valid value.
    package let violation: @Sendable (JSONValue) -> Violation?

    /// A schema that the document contains once, under its own name. `schema` is called on demand, so schemas can refer
    /// to each other.
    package struct Named: Sendable {
        package let name: String
        package let schema: @Sendable () -> WireSchema
    }

    /// A place in a value, and the rule that the value at this place violates.
    package struct Violation: Error, Hashable, Sendable {
        /// The names of the members and the indices of elements, from the outermost inwards.
        package var path: [String]
        /// The rule, as the end of a sentence that begins "It should be".
        package var rule: String

        package init(path: [String] = [], rule: String) {
            self.path = path
            self.rule = rule
        }

        package func below(_ name: String) -> Violation { Violation(path: [name] + path, rule: rule) }
    }

    private init(
        _ json: JSONValue, named: [Named] = [], violation: @escaping @Sendable (JSONValue) -> Violation?
    ) {
        self.json = json
        self.named = named
        self.violation = violation
    }

    /// Creates a schema from JSON Schema and a function that returns whether a value is valid.
    package init(_ json: JSONValue, _ rule: String, _ isValid: @escaping @Sendable (JSONValue) -> Bool) {
        self.init(json) { isValid($0) ? nil : Violation(rule: rule) }
    }

    /// Returns the same schema with a description.
    package func described(_ text: String) -> WireSchema {
        var copy = self
        copy.json["description"] = .string(text)
        return copy
    }

    package func example(_ value: JSONValue) -> WireSchema {
        var copy = self
        copy.json["examples"] = [value]
        return copy
    }
}

extension WireSchema {
    package static let text = WireSchema(["type": "string"], "a string") { $0.stringValue != nil }
    package static let flag = WireSchema(["type": "boolean"], "true or false") { $0.boolValue != nil }
    package static let any = WireSchema([:]) { _ in nil }
    /// Any object.
    package static let object = WireSchema(["type": "object"], "an object") { $0.objectValue != nil }

    /// Returns a schema of strings that `isValid` accepts. `pattern` expresses the same rule as a regular expression.
    package static func text(
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

    package static func choice(_ texts: [String]) -> WireSchema {
        WireSchema(
            ["type": "string", "enum": .array(texts.map { .string($0) })], "one of \(texts.joined(separator: ", "))"
        ) { $0.stringValue.map(texts.contains) ?? false }
    }

    package static func choice<Choice: RawRepresentable & CaseIterable>(_: Choice.Type) -> WireSchema
    where Choice.RawValue == String { choice(Choice.allCases.map(\.rawValue)) }

    package static func integer(_ range: ClosedRange<Int>) -> WireSchema {
        WireSchema(
            ["type": "integer", "minimum": .number(range.lowerBound), "maximum": .number(range.upperBound)],
            "a whole number from \(range.lowerBound) to \(range.upperBound)"
        ) { $0.intValue.map(range.contains) ?? false }
    }

    /// A schema of integers that a `Double` can represent exactly.
    package static let integer = integer(-(1 << 53)...(1 << 53))

    package static func number(_ range: ClosedRange<Double>, above: Bool = false) -> WireSchema {
        WireSchema(
            [
                "type": "number", above ? "exclusiveMinimum" : "minimum": .number(range.lowerBound),
                "maximum": .number(range.upperBound),
            ], "a number \(above ? "above" : "from") \(Int(range.lowerBound)) to \(Int(range.upperBound))"
        ) { $0.doubleValue.map { range.contains($0) && !(above && $0 == range.lowerBound) } ?? false }
    }

    /// An array of any length, or of a length within `count`.
    package static func array(_ element: WireSchema, count: ClosedRange<Int>? = nil) -> WireSchema {
        var json: JSONValue = ["type": "array", "items": element.json]
        if let count {
            json["minItems"] = .number(count.lowerBound)
            json["maxItems"] = .number(count.upperBound)
        }
        return WireSchema(json, named: element.named) { value in
            guard let elements = value.arrayValue else { return Violation(rule: "an array") }
            if let count, !count.contains(elements.count) {
                return Violation(rule: "an array of \(count.lowerBound) to \(count.upperBound)")
            }
            return elements.enumerated().lazy.compactMap { element.violation($1)?.below("\($0)") }.first
        }
    }

    /// Returns a reference to the schema `name` of the document.
    package static func named(_ name: String, _ schema: @escaping @Sendable () -> WireSchema) -> WireSchema {
        WireSchema(
            ["$ref": .string("#/components/schemas/\(name)")], named: [Named(name: name, schema: schema)]
        ) { schema().violation($0) }
    }

    /// The schema that a `named` reference refers to; for any other schema, the schema itself.
    package var definition: WireSchema { json["$ref"] == nil ? self : named.first?.schema() ?? self }

    /// Returns a schema of objects whose members all satisfy `element`.
    package static func dictionary(of element: WireSchema) -> WireSchema {
        WireSchema(["type": "object", "additionalProperties": element.json], named: element.named) { value in
            guard case .object(let members) = value else { return Violation(rule: "an object") }
            return members.lazy.compactMap { element.violation($0.value)?.below($0.key) }.first
        }
    }

    /// A schema that also accepts `null`.
    package var orNull: WireSchema {
        WireSchema(["anyOf": [json, ["type": "null"]]], named: named) { $0.isNull ? nil : violation($0) }
    }

    package struct Member: Sendable {
        package let name: String
        package let schema: WireSchema
        package let isRequired: Bool
    }

    /// Returns a schema of objects with these members. Other members are ignored. Exactly one of the members in
    /// `exactlyOne` must be present.
    package static func object(_ members: [Member], exactlyOne: [String] = []) -> WireSchema {
        let required = members.filter(\.isRequired).map(\.name)
        var json: JSONValue = [
            "type": "object", "properties": .object(JSONMembers(members.map { ($0.name, $0.schema.json) })),
        ]
        if !required.isEmpty { json["required"] = .array(required.map { .string($0) }) }
        if !exactlyOne.isEmpty {
            json["oneOf"] = .array(exactlyOne.map { ["required": [.string($0)]] })
        }
        return WireSchema(json, named: members.flatMap(\.schema.named)) { value in
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
    package static func required(_ name: String, _ schema: WireSchema) -> Self {
        Self(name: name, schema: schema, isRequired: true)
    }
    package static func optional(_ name: String, _ schema: WireSchema) -> Self {
        Self(name: name, schema: schema, isRequired: false)
    }
}
