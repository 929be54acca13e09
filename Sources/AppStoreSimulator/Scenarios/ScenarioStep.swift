import SimulatorControl
import Foundation
import HTTPCore
import Primitives
import StoreKitAdapter
import StoreModel

/// One step of a scenario: an action, or what is expected by then.
struct ScenarioStep: Sendable {
    enum Action: Sendable {
        /// What somebody does to the store; several where one word says so.
        case calls([ScenarioCall])
        /// How the receiver of notifications answers from now on.
        case receiver(ScenarioReceiver.Script)
        case expect(ScenarioExpectation)
    }

    let pointer: String
    /// What it does, in a line for people.
    let title: String
    /// What the author says about it; may be empty.
    let note: String
    let action: Action
    /// What the transaction, order or device is called from now on that comes of it.
    let name: String?
    /// The code with which the store is to refuse it.
    let refusal: String?

    var isExpectation: Bool {
        if case .expect = action { return true }
        return refusal != nil
    }

    private static let members = ["note", "as", "refused"]

    /// `names` are those that earlier steps gave; what this one gives is added.
    init(_ place: JSONPlace, knowing names: inout Set<String>) throws {
        let members = try place.object(or: "a step is a JSON object")
        let words = members.keys.filter { !Self.members.contains($0) }
        guard let word = words.first else { throw place.finding("a step has an action, or expects something") }
        for other in words.dropFirst() {
            throw place.member(other).finding("a step has one action, and this one has \(word) already")
        }
        let here = place.member(word)
        guard let reader = ScenarioWords.all[word] else {
            throw here.finding("there is no action \"\(word)\"; Documentation/Formats.md lists them")
        }
        note = try place["note"]?.text(0...1000).printable ?? ""
        let action = try reader.read(here, names)
        let calls: [ScenarioCall] = if case .calls(let calls) = action { calls } else { [] }
        name = try place["as"].map { place in
            guard calls.count == 1, calls[0].givesName else {
                throw place.finding("\(word) gives nothing that could have a name")
            }
            return try Self.newName(place, &names)
        }
        refusal = try place["refused"].map { place in
            guard !calls.isEmpty else { throw place.finding("nothing can refuse \(word)") }
            if let number = place.value.intValue { return "\(number)" }
            return try place.text(1...100)
        }
        if case .expect(let expectation) = action { names.formUnion(expectation.names) }
        self.action = action
        pointer = place.pointer
        title =
            ([word, reader.line(here.value)] + (name.map { ["as \($0)"] } ?? [])).filter { !$0.isEmpty }
            .joined(separator: " ").printable
    }

    /// Letters, digits and `-._`, the first a letter: a number is a transaction's own.
    static func newName(_ place: JSONPlace, _ names: inout Set<String>) throws -> String {
        let name = try place.text(1...64)
        guard name.first?.isLetter == true, name.allSatisfy({ $0.isLetter || $0.isNumber || "-._".contains($0) })
        else { throw place.finding("a name begins with a letter, and has letters, digits, -, . and _ only") }
        guard names.insert(name).inserted else { throw place.finding("an earlier step gave the name \"\(name)\"") }
        return name
    }
}

/// The words for actions: every endpoint of the store that changes something under its id, and a few that are shorter.
enum ScenarioWords {
    struct Word: Sendable {
        var read: @Sendable (JSONPlace, Set<String>) throws -> ScenarioStep.Action
        /// What is written beside the word, for people.
        var line: @Sendable (JSONValue) -> String = ScenarioWords.line
    }

    static let all: [String: Word] = endpoints.merging(special) { $1 }

    /// Words that are no endpoint's id, or are written differently.
    static let special: [String: Word] = [
        "expect": Word {
            .expect(try ScenarioExpectation($0, knowing: $1))
        } line: {
            $0.objectValue.map(ScenarioExpectation.line) ?? ""
        },
        "receiver": Word { place, _ in .receiver(try ScenarioReceiver.Script(place)) },
        "advance": Word(read: advance), "set": Word(read: set, line: settings),
        "approve": Word { .calls([try answer($0, $1, .approve)]) },
        "decline": Word { .calls([try answer($0, $1, .decline)]) },
        "serverAPI": Word { .calls([try .serverAPI($0, knowing: $1)]) },
        "extendRenewal": Word { .calls([try .extendRenewal($0, knowing: $1)]) },
    ]

    private static let endpoints: [String: Word] = Dictionary(
        uniqueKeysWithValues: StoreEndpoints.all.filter(\.isAction).map { endpoint in
            (endpoint.id, Word { .calls([try ScenarioCall(endpoint, $0, knowing: $1)]) })
        })

    private static func endpoint(_ id: String) -> Endpoint<StoreHandler> {
        guard let endpoint = StoreEndpoints.all.first(where: { $0.id == id }) else {
            preconditionFailure("there is no endpoint \(id)")
        }
        return endpoint
    }

    /// A duration or an instant as people write them, or the endpoint's own question.
    private static func advance(
        _ place: JSONPlace, _ names: Set<String>
    ) throws -> ScenarioStep.Action {
        var place = place
        if let text = place.value.stringValue {
            guard let advance = StoreControlWire.Advance(text) else {
                throw place.finding("this is a duration such as 90s, 6h, 40d or P1M, or an instant of RFC 3339")
            }
            place = JSONPlace(value: Self.json(advance), pointer: place.pointer)
        }
        return .calls([try ScenarioCall(endpoint("advance"), place, knowing: names)])
    }

    private static func json(_ advance: StoreControlWire.Advance) -> JSONValue {
        var members = JSONMembers()
        members["period"] = advance.period.map { .string($0.iso8601) }
        members["seconds"] = advance.seconds.map { .number($0) }
        members["to"] = advance.to.map { .string(RFC3339.string(from: $0)) }
        return .object(members)
    }

    /// Settings by name.
    private static func set(_ place: JSONPlace, _ names: Set<String>) throws -> ScenarioStep.Action {
        let settings = try ScenarioReader.settings(place)
        guard !settings.isEmpty else { throw place.finding("nothing is set; name a setting and its value") }
        var calls: [ScenarioCall] = []
        for one in settings {
            let members: JSONValue = ["setting": .string(one.setting.name), "value": one.value]
            calls.append(
                try ScenarioCall(
                    endpoint("set"), JSONPlace(value: members, pointer: place.pointer), knowing: names))
        }
        return .calls(calls)
    }

    /// The one of a purchase that asks to buy.
    private static func answer(
        _ place: JSONPlace, _ names: Set<String>, _ decision: StoreControlWire.AskToBuy.Decision
    ) throws -> ScenarioCall {
        guard let transaction = place.value.stringValue else {
            throw place.finding("this is the name that a step gave a purchase, or its number")
        }
        try ScenarioCall.check(transaction, at: place, names)
        let members: JSONValue = ["transaction": .string(transaction), "decision": .string(decision.rawValue)]
        return try ScenarioCall(
            endpoint("answerAskToBuy"), JSONPlace(value: members, pointer: place.pointer), knowing: names)
    }

    // MARK: - For people

    /// The scalars of a question, at most two hundred characters of them.
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

    /// As they are kept: one of them is a secret.
    private static func settings(_ value: JSONValue) -> String {
        guard case .object(let members) = value else { return "" }
        return members.map { name, value in
            let kept = try? StoreSetting.named(name)?.value(of: value)
            return kept.map { "\(name) \(scalar($0))" } ?? name
        }.joined(separator: " ")
    }
}

extension Endpoint<StoreHandler> {
    /// Whether it changes something, so that a scenario may name it.
    var isAction: Bool { method != .get && tag != .documents }
}
