import Foundation
import Primitives

/// The kinds of an object's known members.
package struct PayloadSchema: Sendable, Equatable {
    /// The kind of value of a member.
    package indirect enum Kind: Sendable, Equatable {
        case text
        case integer
        case boolean
        case date
        case object(PayloadSchema)
        case list(Kind)
        /// An object with members of any name, each an integer.
        case counts
    }

    private let kinds: [String: Kind]

    package init(_ kinds: [(name: String, kind: Kind)]) {
        self.kinds = Dictionary(uniqueKeysWithValues: kinds.map { ($0.name, $0.kind) })
    }

    /// Returns JSON pointers (RFC 6901) to the members of a document that are not in the schema, for example because
    /// Apple added them later.
    package func unknownMembers(of json: JSONValue) -> [String] {
        guard case .object(let members) = json else { return [] }
        return members.flatMap { name, value in
            let here = JSONPointer.member(name)
            return kinds[name].map { kind in kind.unknownMembers(of: value).map { here + $0 } } ?? [here]
        }
    }

    func check(_ members: JSONMembers, at pointer: String) throws(AppStorePayloadError) {
        for (name, value) in members {
            guard let kind = kinds[name], !value.isNull else { continue }
            try kind.check(value, at: pointer, name)
        }
    }
}

extension PayloadSchema.Kind {
    fileprivate func check(_ value: JSONValue, at pointer: String, _ name: String) throws(AppStorePayloadError) {
        switch (self, value) {
        case (.text, .string), (.boolean, .bool): return
        case (.integer, .number(let number)) where number.int != nil: return
        case (.date, .number) where Date(payloadValue: value) != nil: return
        case (.object(let schema), .object(let members)): try schema.check(members, at: "\(pointer)/\(name)")
        case (.list(let kind), .array(let elements)):
            for (index, element) in elements.enumerated() {
                try kind.check(element, at: "\(pointer)/\(name)", String(index))
            }
        case (.counts, .object(let members)):
            for (member, value) in members {
                try Self.integer.check(value, at: "\(pointer)/\(name)", String(JSONPointer.member(member).dropFirst()))
            }
        default: throw AppStorePayloadError(pointer: "\(pointer)/\(name)", expected: words)
        }
    }

    fileprivate func unknownMembers(of json: JSONValue) -> [String] {
        switch self {
        case .object(let schema): return schema.unknownMembers(of: json)
        case .list(let kind):
            return (json.arrayValue ?? []).enumerated().flatMap { index, element in
                kind.unknownMembers(of: element).map { "/\(index)\($0)" }
            }
        case .text, .integer, .boolean, .date, .counts: return []
        }
    }

    private var words: String {
        switch self {
        case .text: "a string"
        case .integer: "an integer"
        case .boolean: "true or false"
        case .date: "a number of milliseconds since 1970, in the years 0 to 9999"
        case .object: "an object"
        case .list: "an array"
        case .counts: "an object of integers"
        }
    }
}
