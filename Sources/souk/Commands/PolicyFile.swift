import Foundation
import PluginHub
import Primitives

/// A policy file that was named on the command line, with its policy or the reason why it has none.
struct PolicyFile {
    let path: String
    let content: Result<Policy, Finding>
    /// Unknown members, which are probably misspelt.
    let unknownMembers: [Finding]

    /// An error at one place of a file.
    struct Finding: Error {
        let pointer: String
        let reason: String
    }

    /// Throws `UsageError` when the file cannot be read.
    init(reading path: String) throws {
        self.path = path
        let bytes = try InputFile.read(path)
        do {
            let document = try Self.document(bytes)
            content = .success(try Self.policy(document))
            unknownMembers = Self.unknownMembers(in: document)
        } catch {
            content = .failure(error)
            unknownMembers = []
        }
    }

    private static func document(_ bytes: [UInt8]) throws(Finding) -> JSONValue {
        do {
            return try JSONValue(parsing: bytes)
        } catch {
            throw Finding(pointer: "", reason: "this is not JSON: \(error)")
        }
    }

    private static func policy(_ document: JSONValue) throws(Finding) -> Policy {
        do {
            return try document.decode(Policy.self)
        } catch let DecodingError.keyNotFound(key, context) {
            throw Finding(
                pointer: pointer(context.codingPath), reason: "this is no policy: it has no \"\(key.stringValue)\"")
        } catch let DecodingError.typeMismatch(type, context) {
            throw Finding(pointer: pointer(context.codingPath), reason: "this must be \(noun(type))")
        } catch let DecodingError.valueNotFound(type, context) {
            throw Finding(pointer: pointer(context.codingPath), reason: "this must be \(noun(type))")
        } catch {
            throw Finding(pointer: "", reason: "this is no policy: \(error)")
        }
    }

    private static func pointer(_ path: [any CodingKey]) -> String {
        path.map { JSONPointer.member($0.intValue.map(String.init) ?? $0.stringValue) }.joined()
    }

    private static func noun(_ type: any Any.Type) -> String {
        let name = "\(type)"
        if name == "String" { return "a string" }
        return name.hasPrefix("Array") ? "a list of strings" : "an object"
    }

    private static let exchange = ["commands", "queries", "viewControllerQueries", "requests"]
    private static let members = [
        "send": exchange, "receive": exchange, "publish": ["events"], "subscribe": ["events"],
        "subscribeAtAppLaunch": ["events"], "name": [],
    ]

    private static func unknownMembers(in document: JSONValue) -> [Finding] {
        guard case .object(let top) = document else { return [] }
        return top.flatMap { member -> [Finding] in
            guard let known = members[member.key] else {
                return [unknownMember(["", member.key], among: members.keys.sorted())]
            }
            guard case .object(let inner) = member.value else { return [] }
            return inner.keys.filter { !known.contains($0) }.map { unknownMember(["", member.key, $0], among: known) }
        }
    }

    private static func unknownMember(_ path: [String], among known: [String]) -> Finding {
        Finding(
            pointer: path.map(JSONPointer.escaped).joined(separator: "/"),
            reason: "\"\(path.last ?? "")\" is unknown; known are \(known.joined(separator: ", "))")
    }
}
