import Foundation
import HTTPCore
import Primitives
import StoreModel

/// The expected values of a step: members of some responses of the store.
struct ScenarioExpectation: Sendable {
    /// The source of the actual values.
    enum Source: Sendable {
        /// The response of an endpoint that changes nothing, requested with these values. `list` is the expected
        /// member.
        case endpoint(Endpoint<StoreHandler>, [String: String], list: String?)
        /// The notifications since the last expected ones.
        case notifications(account: String?)
        /// The attempts to send notifications since the last expected ones.
        case attempts(account: String?)
        /// The notifications of Google Play since the last expected ones.
        case playNotifications(account: String?, purchase: String?)
        /// The attempts to send notifications of Google Play since the last expected ones.
        case playAttempts(account: String?, purchase: String?)
        /// The answer of the server about a customer.
        case answer(customer: String, schema: WireSchema)
    }

    struct Subject: Sendable {
        let name: String
        let pointer: String
        let source: Source
        let expected: JSONValue
    }

    let subjects: [Subject]
    /// The names that the expectation gives to transactions.
    let names: Set<String>

    /// The members of `expect` that select an account or an object. They are not expected values.
    private static let qualifiers = [
        "account", "transaction", "device", "purchase", "family", "setting", "product", "batch", "customer",
    ]

    /// The endpoints that can be expected, by id. `account` and `setting` cannot, because they are qualifiers; use
    /// `accounts` and `settings`.
    private static let endpoints: [String: Endpoint<StoreHandler>] = Dictionary(
        uniqueKeysWithValues: StoreEndpoints.all.filter { endpoint in
            endpoint.method == .get && endpoint.tag == .control && !qualifiers.contains(endpoint.id)
                && !["exportState", "receipt"].contains(endpoint.id)
        }.map { ($0.id, $0) })

    /// All subjects that can be expected.
    static let words = Set(endpoints.keys).union(["notifications", "attempts", "playAttempts", "answer"])

    init(_ place: JSONPlace, _ context: ScenarioContext) throws {
        let names = context.names
        var given: [String: String] = [:]
        for name in Self.qualifiers {
            guard let member = place[name] else { continue }
            let text = try member.text(1...255)
            if ScenarioCall.isNamed(name) { try ScenarioCall.check(text, at: member, names) }
            given[name] = text
        }
        var (subjects, used): ([Subject], Set<String>) = ([], [])
        var newNames = names
        for (name, expected) in try place.object(or: "the expectation should be a JSON object")
        where !Self.qualifiers.contains(name) {
            let here = place.member(name)
            let source: Source
            switch name {
            case "notifications": (source, used) = (.notifications(account: given["account"]), used.union(["account"]))
            case "attempts": (source, used) = (.attempts(account: given["account"]), used.union(["account"]))
            case "playNotifications":
                source = .playNotifications(account: given["account"], purchase: given["purchase"])
                used.formUnion(["account", "purchase"])
            case "playAttempts":
                source = .playAttempts(account: given["account"], purchase: given["purchase"])
                used.formUnion(["account", "purchase"])
            case "answer":
                try context.requireServer(here, name)
                guard let customer = place["customer"], let schema = context.answer else {
                    throw here.finding("answer needs a member \"customer\"; name the customer")
                }
                source = .answer(customer: try customer.identifier(CustomerID.self).rawValue, schema: schema)
                used.insert("customer")
            default:
                guard let endpoint = Self.endpoints[name] else {
                    let words = Self.words.sorted().joined(separator: ", ")
                    throw here.finding("\"\(name)\" cannot be expected; use one of \(words)")
                }
                let optional = endpoint.query.map(\.name).filter(Self.qualifiers.contains)
                for parameter in endpoint.pathParameters where given[parameter] == nil {
                    throw here.finding("\(name) needs a member \"\(parameter)\"; name the \(parameter)")
                }
                used.formUnion(endpoint.pathParameters + optional)
                source = .endpoint(endpoint, given, list: endpoint.list)
            }
            let shape = ScenarioShape(source)
            try shape.check(JSONPlace(value: expected, pointer: here.pointer), &newNames)
            subjects.append(
                Subject(name: name, pointer: here.pointer, source: source, expected: shape.normalized(expected)))
        }
        guard !subjects.isEmpty else {
            throw place.finding("nothing is expected here; add a member such as \"transactions\"")
        }
        for name in given.keys.sorted() where !used.contains(name) {
            throw place.member(name).finding("no expectation here depends on the \(name); remove it")
        }
        self.subjects = subjects
        self.names = newNames.subtracting(names)
    }

    /// Returns the subjects and their qualifiers, for the title of the step.
    static func line(_ members: JSONObject) -> String {
        let selection = qualifiers.compactMap { members[$0]?.stringValue }.joined(separator: ", ")
        let subjects = members.keys.filter { !qualifiers.contains($0) }.sorted().joined(separator: ", ")
        return selection.isEmpty ? subjects : "\(subjects) of \(selection)"
    }
}

extension Endpoint {
    /// The name of the list in the response that an expectation compares: the endpoint's id, or that of the only list.
    fileprivate var list: String? {
        guard case .object(let properties) = answer?.definition.json["properties"] else { return nil }
        let lists = properties.filter { $0.value["type"] == "array" }.map(\.key)
        return lists.contains(id) ? id : lists.count == 1 ? lists[0] : nil
    }
}
