import AppStorePayloads
import SimulatorControl
import Foundation
import HTTPCore
import Primitives
import StoreKitAdapter
import StoreModel

/// The schema of an expected response. It finds unknown members before the scenario runs.
struct ScenarioShape {
    private let schema: JSONValue
    private let named: [WireSchema.Named]
    /// Converts a string in a list of notifications or attempts to an object with the type.
    private let shorthand: (@Sendable (JSONValue) -> JSONValue)?

    init(_ source: ScenarioExpectation.Source) {
        switch source {
        case .endpoint(let endpoint, _, let list):
            let answer = endpoint.answer?.definition ?? .any
            schema = list.flatMap { answer.json["properties"]?[$0] } ?? answer.json
            named = answer.named
            shorthand = nil
        case .notifications: (schema, named, shorthand) = Self.list(of: StoreControlWire.Notification.self, Self.type)
        case .attempts: (schema, named, shorthand) = Self.list(of: NotificationSendAttempt.self, Self.type)
        case .playNotifications:
            (schema, named, shorthand) = Self.list(of: StoreControlWire.PlayNotification.self, Self.playType)
        case .playAttempts: (schema, named, shorthand) = Self.list(of: PlaySendAttempt.self, Self.playType)
        case .answer(_, let answer): (schema, named, shorthand) = (answer.json, answer.named, nil)
        }
    }

    private static func list(
        of model: any WireModel.Type, _ shorthand: @escaping @Sendable (JSONValue) -> JSONValue
    ) -> (JSONValue, [WireSchema.Named], @Sendable (JSONValue) -> JSONValue) {
        let schema = WireSchema.array(of: model)
        return (schema.json, schema.named, shorthand)
    }

    /// Returns the expected value with objects in place of the strings of a type and a subtype.
    func normalized(_ expected: JSONValue) -> JSONValue {
        shorthand.map { Self.elements(of: expected, $0) } ?? expected
    }

    private static func type(_ value: JSONValue) -> JSONValue {
        guard let words = value.stringValue?.split(separator: " "), (1...2).contains(words.count) else { return value }
        return [
            "type": .string(String(words[0])), "subtype": words.count == 2 ? .string(String(words[1])) : .null,
        ]
    }

    private static func playType(_ value: JSONValue) -> JSONValue {
        value.stringValue.map { ["type": .string($0)] } ?? value
    }

    private static func elements(of value: JSONValue, _ change: (JSONValue) -> JSONValue) -> JSONValue {
        switch value {
        case .array(let elements): .array(elements.map(change))
        case .object(let members):
            .object(
                JSONMembers(members.map { ($0.key, $0.value.arrayValue.map { .array($0.map(change)) } ?? $0.value) }))
        default: value
        }
    }

    /// Throws for a value that no response can have. `names` contains the names that earlier steps gave. The value of
    /// each member `as` is added.
    func check(_ place: JSONPlace, _ names: inout Set<String>) throws {
        let known = names
        try Self.check(JSONPlace(value: normalized(place.value), pointer: place.pointer), schema, named, known, &names)
    }

    private static func check(
        _ place: JSONPlace, _ schema: JSONValue, _ named: [WireSchema.Named], _ known: Set<String>,
        _ names: inout Set<String>
    ) throws {
        if let reference = schema["$ref"]?.stringValue {
            let name = reference.split(separator: "/").last.map(String.init)
            guard let schema = named.first(where: { $0.name == name })?.schema() else { return }
            return try check(place, schema.json, schema.named, known, &names)
        }
        if schema["type"] == "array" {
            for element in try ListRule.elements(place) {
                try check(element, schema["items"] ?? [:], named, known, &names)
            }
        } else if case .object(let properties) = schema["properties"] {
            for (name, value) in try place.object(
                or: "this should be an object with \(properties.keys.joined(separator: ", "))")
            {
                let here = place.member(name)
                if name == "as", properties["transactionID"] != nil {
                    _ = try ScenarioStep.newName(here, &names)
                } else if let content = SignedContent.schemas[name] {
                    try check(here, content)
                } else if let inner = properties[name] {
                    if ScenarioMatch.isNamed(name), let text = value.stringValue {
                        try ScenarioCall.check(text, at: here, known)
                    }
                    if !value.isNull { try check(here, inner, named, known, &names) }
                } else {
                    throw here.finding(
                        "there is no \"\(name)\" here; there is \(properties.keys.joined(separator: ", "))")
                }
            }
        }
    }

    /// Checks the expected members of a JWS payload, under Apple's names. Objects in the payload, such as `data` of a
    /// notification, can contain further JWS values.
    private static func check(_ place: JSONPlace, _ content: PayloadSchema) throws {
        for (name, value) in try place.object(or: "this should be an object with members of the signed payload") {
            let here = place.member(name)
            if let inner = SignedContent.schemas[name], case .object = value {
                try check(here, inner)
            } else if let unknown = content.unknownMembers(of: .object([name: value])).first {
                throw ScenarioFinding(
                    pointer: place.pointer + unknown, reason: "Apple has no such member in this payload")
            } else if case .object(let members) = value {
                for (name, value) in members {
                    if let inner = SignedContent.schemas[name], case .object = value {
                        try check(here.member(name), inner)
                    }
                }
            }
        }
    }
}

/// The form of an expected list: its elements, or an object with one or more rules.
enum ListRule {
    static let words = ["count", "first", "last", "includes"]

    /// Returns the expected elements of a list or of its rules. Throws for an unknown rule.
    static func elements(_ place: JSONPlace) throws -> [JSONPlace] {
        if let elements = place.elements { return elements }
        let rule = "this should be a list, or an object with \(words.joined(separator: ", "))"
        var elements: [JSONPlace] = []
        guard case .object(let members) = place.value, !members.isEmpty else { throw place.finding(rule) }
        for name in members.keys {
            let here = place.member(name)
            guard words.contains(name) else { throw here.finding(rule) }
            if name == "count" {
                guard let count = here.value.intValue, count >= 0 else {
                    throw here.finding("a count should be 0 or more")
                }
            } else {
                guard let listed = here.elements else { throw here.finding("this should be a list") }
                elements += listed
            }
        }
        return elements
    }
}
