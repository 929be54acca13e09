import Foundation
import HTTPCore
import Primitives
import StoreModel

/// What a step expects: some answers of the store, some members of each.
struct ScenarioExpectation: Sendable {
    /// Where the truth is looked up.
    enum Source: Sendable {
        /// An endpoint that changes nothing, asked with these values; `list` is the member of its answer that is meant.
        case endpoint(Endpoint<StoreHandler>, [String: String], list: String?)
        /// What the app's server was told since it was last expected.
        case notifications(account: String?)
        /// The sendings of notifications since they were last expected.
        case attempts(account: String?)
    }

    struct Subject: Sendable {
        let name: String
        let pointer: String
        let source: Source
        let expected: JSONValue
    }

    let subjects: [Subject]
    /// Those that it gives to what it finds.
    let names: Set<String>

    /// Members of an `expect` that say of whom or what it speaks, not what is expected.
    private static let qualifiers = ["account", "transaction", "device", "family", "setting", "product"]

    /// Endpoints that can be asked, by id. An account's own is asked as one of all `accounts`.
    private static let endpoints: [String: Endpoint<StoreHandler>] = Dictionary(
        uniqueKeysWithValues: StoreEndpoints.all.filter { endpoint in
            endpoint.method == .get && endpoint.tag == .control && !qualifiers.contains(endpoint.id)
                && !["exportState", "receipt"].contains(endpoint.id)
        }.map { ($0.id, $0) })

    /// Every word that may be expected.
    static let words = Set(endpoints.keys).union(["notifications", "attempts"])

    init(_ place: JSONPlace, knowing names: Set<String>) throws {
        var given: [String: String] = [:]
        for name in Self.qualifiers {
            guard let member = place[name] else { continue }
            let text = try member.text(1...255)
            if ["transaction", "device"].contains(name) { try ScenarioCall.check(text, at: member, names) }
            given[name] = text
        }
        var (subjects, used): ([Subject], Set<String>) = ([], [])
        var newNames = names
        for (name, expected) in try place.object(or: "what is expected is a JSON object")
        where !Self.qualifiers.contains(name) {
            let here = place.member(name)
            let source: Source
            switch name {
            case "notifications": (source, used) = (.notifications(account: given["account"]), used.union(["account"]))
            case "attempts": (source, used) = (.attempts(account: given["account"]), used.union(["account"]))
            default:
                guard let endpoint = Self.endpoints[name] else {
                    let words = Self.words.sorted().joined(separator: ", ")
                    throw here.finding("nothing is known of \"\(name)\"; what can be expected is \(words)")
                }
                let optional = endpoint.query.map(\.name).filter(Self.qualifiers.contains)
                for parameter in endpoint.pathParameters where given[parameter] == nil {
                    throw here.finding("\(name) are somebody's; name the \(parameter) beside them")
                }
                used.formUnion(endpoint.pathParameters + optional)
                source = .endpoint(endpoint, given, list: endpoint.list)
            }
            let shape = ScenarioShape(source)
            try shape.check(JSONPlace(value: expected, pointer: here.pointer), &newNames)
            subjects.append(
                Subject(name: name, pointer: here.pointer, source: source, expected: shape.normal(expected)))
        }
        guard !subjects.isEmpty else { throw place.finding("nothing is expected here") }
        for name in given.keys.sorted() where !used.contains(name) {
            throw place.member(name).finding("nothing that is expected here depends on the \(name)")
        }
        self.subjects = subjects
        self.names = newNames.subtracting(names)
    }

    /// What is expected, and of whom, for people.
    static func line(_ members: JSONObject) -> String {
        let whom = qualifiers.compactMap { members[$0]?.stringValue }.joined(separator: ", ")
        let what = members.keys.filter { !qualifiers.contains($0) }.sorted().joined(separator: ", ")
        return whom.isEmpty ? what : "\(what) of \(whom)"
    }
}

extension Endpoint {
    /// The member of its answer that is meant by its id: a list.
    fileprivate var list: String? {
        guard case .object(let properties) = answer?.definition.json["properties"] else { return nil }
        let lists = properties.filter { $0.value["type"] == "array" }.map(\.key)
        return lists.contains(id) ? id : lists.count == 1 ? lists[0] : nil
    }
}
