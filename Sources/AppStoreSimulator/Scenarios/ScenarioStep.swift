import SimulatorControl
import Foundation
import HTTPCore
import Primitives
import StoreKitAdapter
import StoreModel

/// One step of a scenario: an action or an expectation.
struct ScenarioStep: Sendable {
    enum Action: Sendable {
        /// Requests to the store, one for most actions.
        case calls([ScenarioCall])
        /// An app presents purchases to the server.
        case present(ScenarioPresentation)
        /// Sets the responses of the receiver to later notifications.
        case receiver(ScenarioReceiver.Script)
        /// Sets the answer of the receiver to later realtime requests.
        case realtime(ScenarioReceiver.RealtimeAnswer)
        case expect(ScenarioExpectation)

        fileprivate var canBeRefused: Bool {
            switch self {
            case .calls, .present: true
            case .receiver, .realtime, .expect: false
            }
        }
    }

    let pointer: String
    /// The action, in one line.
    let title: String
    /// The note of the file's author; can be empty.
    let note: String
    let action: Action
    /// The name of the transaction, order or device that the step creates.
    let name: String?
    /// The expected error code, for a step that the store refuses.
    let refusal: String?

    var isExpectation: Bool {
        if case .expect = action { return true }
        return refusal != nil
    }

    private static let members = ["note", "as", "refused"]

    /// Reads a step. `context` has the names of earlier steps; the names of this one are added.
    init(_ place: JSONPlace, _ context: inout ScenarioContext) throws {
        let members = try place.object(or: "a step should be a JSON object")
        let words = members.keys.filter { !Self.members.contains($0) }
        guard let word = words.first else { throw place.finding("a step needs an action or an expectation") }
        for other in words.dropFirst() {
            throw place.member(other).finding("a step can have one action only; this one has \(word) already")
        }
        let here = place.member(word)
        guard let reader = ScenarioWords.all[word] else {
            throw here.finding("there is no action \"\(word)\"; Documentation/Formats.md lists them")
        }
        note = try place["note"]?.text(0...1000).printable ?? ""
        let action = try reader.read(here, context)
        let calls: [ScenarioCall] = if case .calls(let calls) = action { calls } else { [] }
        name = try place["as"].map { place in
            guard calls.count == 1, calls[0].returnsID else {
                throw place.finding("\(word) creates nothing that could have a name; remove \"as\"")
            }
            return try Self.newName(place, &context.names)
        }
        refusal = try place["refused"].map { place in
            guard action.canBeRefused else {
                throw place.finding("the store cannot refuse \(word); remove \"refused\"")
            }
            if let number = place.value.intValue { return "\(number)" }
            return try place.text(1...100)
        }
        if case .expect(let expectation) = action { context.names.formUnion(expectation.names) }
        self.action = action
        pointer = place.pointer
        title =
            ([word, reader.line(here.value)] + (name.map { ["as \($0)"] } ?? [])).filter { !$0.isEmpty }
            .joined(separator: " ").printable
    }

    /// Reads a new name: letters, digits and `-._`. It begins with a letter, so that it is not the number of a
    /// transaction.
    static func newName(_ place: JSONPlace, _ names: inout Set<String>) throws -> String {
        let name = try place.text(1...64)
        guard name.first?.isLetter == true, name.allSatisfy({ $0.isLetter || $0.isNumber || "-._".contains($0) })
        else { throw place.finding("a name begins with a letter, and has letters, digits, -, . and _ only") }
        guard names.insert(name).inserted else { throw place.finding("an earlier step gave the name \"\(name)\"") }
        return name
    }
}

/// The words for actions: the id of each endpoint that is an action, and a few shorter forms.
enum ScenarioWords {
    struct Word: Sendable {
        var read: @Sendable (JSONPlace, ScenarioContext) throws -> ScenarioStep.Action
        /// The values of the action, for the title of the step.
        var line: @Sendable (JSONValue) -> String = ScenarioWords.line
    }

    static let all: [String: Word] = endpoints.merging(special) { $1 }

    /// The words that are not the id of an endpoint, or that have another form.
    static let special: [String: Word] = [
        "expect": Word {
            .expect(try ScenarioExpectation($0, $1))
        } line: {
            $0.objectValue.map(ScenarioExpectation.line) ?? ""
        },
        "receiver": Word { .receiver(try ScenarioReceiver.Script($0, $1)) },
        "realtime": Word { .realtime(try ScenarioReceiver.RealtimeAnswer($0, $1)) },
        "advance": Word(read: advance), "set": Word(read: set, line: settings),
        "approve": Word { .calls([try answer($0, $1.names, .approve)]) },
        "decline": Word { .calls([try answer($0, $1.names, .decline)]) },
        "serverAPI": Word { .calls([try .serverAPI($0, names: $1.names)]) },
        "present": Word { .present(try .transactions($0, $1)) },
        "playPresent": Word { .present(try .playPurchase($0, $1)) },
        "extendRenewal": Word { .calls([try .extendRenewal($0, names: $1.names)]) },
    ]

    private static let endpoints: [String: Word] = Dictionary(
        uniqueKeysWithValues: StoreEndpoints.all.filter(\.isAction).map { endpoint in
            (endpoint.id, Word { .calls([try ScenarioCall(endpoint, $0, names: $1.names)]) })
        })

    private static func endpoint(_ id: String) -> Endpoint<StoreHandler> {
        guard let endpoint = StoreEndpoints.all.first(where: { $0.id == id }) else {
            preconditionFailure("there is no endpoint \(id)")
        }
        return endpoint
    }

    /// Reads a duration or an instant as a string, or the body of the endpoint.
    private static func advance(
        _ place: JSONPlace, _ context: ScenarioContext
    ) throws -> ScenarioStep.Action {
        var place = place
        if let text = place.value.stringValue {
            guard let advance = StoreControlWire.Advance(text) else {
                throw place.finding("this should be a duration such as 90s, 6h, 40d or P1M, or an instant of RFC 3339")
            }
            place = JSONPlace(value: Self.json(advance), pointer: place.pointer)
        }
        return .calls([try ScenarioCall(endpoint("advance"), place, names: context.names)])
    }

    private static func json(_ advance: StoreControlWire.Advance) -> JSONValue {
        var members = JSONMembers()
        members["period"] = advance.period.map { .string($0.iso8601) }
        members["seconds"] = advance.seconds.map { .number($0) }
        members["to"] = advance.to.map { .string(RFC3339.string(from: $0)) }
        return .object(members)
    }

    /// Reads settings by name.
    private static func set(_ place: JSONPlace, _ context: ScenarioContext) throws -> ScenarioStep.Action {
        let settings = try ScenarioReader.settings(place)
        guard !settings.isEmpty else { throw place.finding("nothing is set; name a setting and its value") }
        var calls: [ScenarioCall] = []
        for setting in settings {
            let members: JSONValue = ["setting": .string(setting.setting.name), "value": setting.value]
            calls.append(
                try ScenarioCall(
                    endpoint("set"), JSONPlace(value: members, pointer: place.pointer), names: context.names))
        }
        return .calls(calls)
    }

    /// Reads the answer to an Ask to Buy request, by its purchase.
    private static func answer(
        _ place: JSONPlace, _ names: Set<String>, _ decision: StoreControlWire.AskToBuy.Decision
    ) throws -> ScenarioCall {
        guard let transaction = place.value.stringValue else {
            throw place.finding("this should be the name that a step gave a purchase, or its number")
        }
        try ScenarioCall.check(transaction, at: place, names)
        let members: JSONValue = ["transaction": .string(transaction), "decision": .string(decision.rawValue)]
        return try ScenarioCall(
            endpoint("answerAskToBuy"), JSONPlace(value: members, pointer: place.pointer), names: names)
    }

    /// Returns one line with the scalars of a body, cut after two hundred characters.
    private static func line(_ value: JSONValue) -> String {
        let text: String =
            switch value {
            case .object(let members): members.values.map(scalar).joined(separator: " ")
            case .array(let elements): elements.map(scalar).joined(separator: " ")
            default: scalar(value)
            }
        return text.count > 200 ? text.prefix(200) + "…" : text
    }

    private static func scalar(_ value: JSONValue) -> String {
        switch value {
        case .string(let text): text
        case .array, .object: "…"
        default: value.text()
        }
    }

    /// Returns the settings in the form that the store keeps, because one of them can be a secret.
    private static func settings(_ value: JSONValue) -> String {
        guard case .object(let members) = value else { return "" }
        return members.map { name, value in
            let kept = try? StoreSetting.named(name)?.value(of: value)
            return kept.map { "\(name) \(scalar($0))" } ?? name
        }.joined(separator: " ")
    }
}

extension Endpoint<StoreHandler> {
    /// Whether it is an action of scenarios: every endpoint except those of GET and `runScenario`.
    var isAction: Bool { method != .get && tag != .documents && id != "runScenario" }
}
