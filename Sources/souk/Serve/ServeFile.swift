import EntitlementServer
import Foundation
import Primitives
import StoreModel

/// The file of `souk serve --config`. It sets flags as members such as `tlsKey` for `--tls-key`, and has settings that
/// only a file can have: those of single apps, web purchases and webhooks. Secrets are in files of their own.
struct ServeFile: Sendable {
    struct App: Sendable {
        let bundleID: BundleID
        let values: [String: [String]]

        func hasOtherValues(than other: App, beside names: Set<String>) -> Bool {
            values.filter { !names.contains($0.key) } != other.values.filter { !names.contains($0.key) }
        }
    }

    private(set) var values: [String: [String]] = [:]
    private(set) var apps: [App] = []
    private(set) var webPurchases: [EntitlementService.Configuration.WebPurchaseSource] = []
    private(set) var webhooks: [Webhook] = []

    /// The settings of a server without a file: all are empty.
    init() {}

    /// Throws `UsageError` with the file and the place of the first error.
    init(_ path: String) throws {
        let json: JSONValue
        do { json = try JSONValue(parsing: try InputFile.read(path)) } catch let error as JSONError {
            throw UsageError("\(path): this is not JSON: \(error)")
        }
        guard case .object(let members) = json else { throw UsageError("\(path): this should be a JSON object") }
        values = try ServeOptions.values(
            in: members, of: ServeOptions.all, beside: ["apps", "webPurchases", "webhooks"], at: path)
        apps = try Self.entries(members["apps"], at: "\(path)/apps").map { entry in
            App(
                bundleID: try entry.identifier("bundleId"),
                values: try ServeOptions.values(
                    in: entry.members, of: ServeOptions.ofApp, beside: ["bundleId"], at: entry.pointer))
        }
        webPurchases = try Self.entries(members["webPurchases"], at: "\(path)/webPurchases").map { entry in
            try entry.allow(["name", "bundleId", "environment", "secretFiles"])
            return .init(
                name: try entry.text("name"), app: try entry.identifier("bundleId"),
                environment: StoreEnvironment(rawValue: try entry.text("environment")), secrets: try entry.secrets())
        }
        webhooks = try Self.entries(members["webhooks"], at: "\(path)/webhooks").map { entry in
            try entry.allow(["name", "bundleId", "url", "secretFiles", "batchSize"])
            return Webhook(
                name: try entry.text("name"), app: try entry.identifier("bundleId"), url: try entry.text("url"),
                secrets: try entry.secrets(), batchSize: try entry.integer("batchSize"))
        }
    }

    private static func entries(_ value: JSONValue?, at pointer: String) throws -> [Entry] {
        guard let value else { return [] }
        guard let elements = value.arrayValue else { throw UsageError("\(pointer): this should be a list of objects") }
        return try elements.enumerated().map { index, element in
            guard case .object(let members) = element else {
                throw UsageError("\(pointer)/\(index): this should be an object")
            }
            return Entry(members: members, pointer: "\(pointer)/\(index)")
        }
    }

    private struct Entry {
        let members: JSONMembers
        let pointer: String

        func allow(_ names: [String]) throws {
            for (name, _) in members where !names.contains(name) {
                throw UsageError(
                    "\(pointer)/\(name): there is no such setting; there are \(names.joined(separator: ", "))")
            }
        }

        func text(_ name: String) throws -> String {
            guard let text = members[name]?.stringValue else {
                throw UsageError("\(pointer)/\(name): this should be a string")
            }
            return text
        }

        func integer(_ name: String) throws -> Int? {
            guard let value = members[name] else { return nil }
            guard let number = value.intValue else {
                throw UsageError("\(pointer)/\(name): this should be a whole number")
            }
            return number
        }

        func identifier<ID: Identifier>(_ name: String) throws -> ID {
            try Arguments.identifier(try text(name), called: "\(pointer)/\(name)")
        }

        func secrets() throws -> [WebhookSecret] {
            guard let files = members["secretFiles"]?.arrayValue?.map(\.stringValue), !files.contains(nil) else {
                throw UsageError("\(pointer)/secretFiles: this should be a list of files, each with one secret")
            }
            return try files.compactMap(\.self).map { file in
                do { return try WebhookSecret(try InputFile.text(file)) } catch let error as EntitlementServerError {
                    throw UsageError("\(file): \(error.reason)")
                }
            }
        }
    }
}
