import Primitives

extension ViewDocument {
    /// The JSON Schema of a view document (draft 7, the dialect of AsyncAPI).
    static let schema: JSONValue = object(
        ["title": string, "sections": list(section)], required: ["title", "sections"])

    private static let section = object(["title": string, "rows": list(row), "actions": list(action)])

    private static let action = object(
        ["id": string, "label": string, "values": ["type": "object"]], required: ["id"])

    private static let row: JSONValue = [
        "oneOf": [
            row("text", ["id": string, "value": string], required: []),
            row("toggle", ["id": string, "isOn": ["type": "boolean"]], required: ["id", "isOn"]),
            row("field", ["id": string, "value": string, "placeholder": string], required: ["id", "value"]),
            row(
                "choice",
                [
                    "id": string, "selected": string,
                    "options": list(object(["value": string, "label": string], required: ["value", "label"])),
                ], required: ["id", "options"]),
        ]
    ]

    private static func row(_ type: String, _ own: JSONMembers, required: [String]) -> JSONValue {
        var properties: JSONMembers = ["type": ["const": .string(type)], "label": string, "action": action]
        for (name, schema) in own { properties[name] = schema }
        return object(properties, required: ["type", "label"] + required)
    }

    private static let string: JSONValue = ["type": "string"]

    private static func list(_ element: JSONValue) -> JSONValue { ["type": "array", "items": element] }

    private static func object(_ properties: JSONMembers, required: [String] = []) -> JSONValue {
        var schema: JSONValue = ["type": "object", "properties": .object(properties)]
        if !required.isEmpty { schema["required"] = .array(required.map(JSONValue.string)) }
        return schema
    }
}
