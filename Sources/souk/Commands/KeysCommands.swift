import EntitlementServer
import Foundation
import Primitives
import SQLStorage
import SignedData
import StoreModel

/// `souk keys`: creates, lists and revokes the API keys of the entitlement server, and creates keys that sign answers.
enum KeysCommands {
    private static let json = Command.Option(name: "json", help: "print one JSON value")
    private static let bundle = Command.Option(
        name: "bundle-id", value: "B", help: "the app; without it, the keys of all apps")

    static let create = Command(
        words: ["keys", "create"], summary: "Create an API key, or a key that signs answers",
        options: [
            LedgerLocation.option, .init(name: "bundle-id", value: "B", help: "the app that the key is for"),
            .init(
                name: "kind", value: "K", help: "public, for apps, or secret, for servers (secret)",
                choices: [KeyKind.public, .secret].map(\.rawValue)),
            .init(name: "label", value: "TEXT", help: "a name for the key"),
            .init(name: "out", value: "FILE", help: "the file for the key, which only you can read; - prints it"),
            .init(
                name: "signing", value: "FILE",
                help: "create an Ed25519 key for souk serve --signing-key instead; - prints it"),
            json,
        ],
        details: """
            The ledger keeps only a digest: the key cannot be printed again. A running server accepts it at once.
            Without --out a public key is printed and a secret one goes to a file: beside a SQLite ledger, else in the
            working directory.
            """
    ) { arguments in
        if let path = arguments.text("signing") {
            let key = try Ed25519.PrivateKey.generate()
            if path == "-" {
                try printSigningKey(key, asJSON: arguments.has("json"))
            } else {
                try createSigningKey(key, at: InputFile.absolute(path), asJSON: arguments.has("json"))
            }
            return .success
        }
        let ledger = try LedgerLocation(arguments)
        let app: BundleID = try Arguments.identifier(arguments.required("bundle-id"), called: "--bundle-id")
        let name = arguments.text("kind") ?? KeyKind.secret.rawValue
        guard let kind = KeyKind(rawValue: name) else {
            throw UsageError("--kind is public or secret, not \(name.quoted)")
        }
        _ = try await ledger.withSharedDatabase { database in
            try await managing {
                try await APIKeys(database: database).create(kind, for: app, label: arguments.text("label")) {
                    entry, key in
                    try deliver(key, entry, to: arguments, of: ledger)
                }
            }
        }
        return .success
    }

    static let list = Command(
        words: ["keys", "list"], summary: "List the API keys of a ledger, without the keys themselves",
        options: [LedgerLocation.option, bundle, json]
    ) { arguments in
        let app: BundleID? = try arguments.identifier("bundle-id")
        let entries = try await LedgerLocation(arguments).withSharedDatabase { try APIKeys(database: $0).list(of: app) }
        if arguments.has("json") {
            try Terminal.print(json: ["keys": .array(entries.map { .object(members(of: $0)) })])
        } else {
            for entry in entries { try Terminal.print(line(of: entry)) }
        }
        return .success
    }

    static let revoke = Command(
        words: ["keys", "revoke"], summary: "Revoke an API key", operands: ["ID"],
        options: [LedgerLocation.option, json],
        details: "ID is the one that souk keys list prints. A running server refuses the key within a second."
    ) { arguments in
        let entry = try await LedgerLocation(arguments).withSharedDatabase { database in
            try await managing { try await APIKeys(database: database).revoke(arguments.operands[0]) }
        }
        if arguments.has("json") {
            try Terminal.print(json: .object(members(of: entry)))
        } else {
            try Terminal.print(line(of: entry))
        }
        return .success
    }

    /// Turns errors of the ledger into those of the command.
    private static func managing<Value>(_ work: () async throws -> Value) async throws -> Value {
        do { return try await work() } catch let error as EntitlementServerError { throw UsageError(error.reason) }
    }

    /// Prints the key or writes it to a file, and prints its entry.
    private static func deliver(
        _ key: String, _ entry: APIKeys.Entry, to arguments: Arguments, of ledger: LedgerLocation
    ) throws {
        var members = members(of: entry)
        var file: String?
        let beside = "\(ledger.keyFilePrefix).\(entry.bundleID).\(entry.id).secret-key"
        let place = arguments.text("out") ?? (entry.kind == .secret ? beside : "-")
        if place == "-" {
            members["key"] = .string(key)
        } else {
            let path = InputFile.absolute(place)
            try OutputFile.createSecret(key, at: path)
            members["keyFile"] = .string(path)
            file = path
        }
        try keeping(file) {
            if arguments.has("json") { return try Terminal.print(json: .object(members)) }
            let place: TerminalText = file.map { "the key is in \($0)" } ?? "\(key)"
            try Terminal.print(line(of: entry) + "\n" + place)
        }
    }

    /// Runs `output`. If it throws, removes the file of the key and throws too, so that no key is created.
    private static func keeping(_ file: String?, _ output: () throws -> Void) throws {
        do {
            try output()
        } catch {
            if let file { unlink(file) }
            throw error
        }
    }

    /// Prints both keys as JSON. Without JSON, standard output gets only the private key, so that it can be redirected
    /// to a key file.
    private static func printSigningKey(_ key: Ed25519.PrivateKey, asJSON: Bool) throws {
        let (privateKey, publicKey) = (key.pem.trimmingCharacters(in: .newlines), key.publicKey.pem)
        if asJSON { return try Terminal.print(json: ["key": .string(privateKey), "publicKey": .string(publicKey)]) }
        try Terminal.print(.lines(privateKey))
        Terminal.note("apps verify answers with\n\(TerminalText.lines(publicKey))")
    }

    private static func createSigningKey(_ key: Ed25519.PrivateKey, at path: String, asJSON: Bool) throws {
        try OutputFile.createSecret(key.pem.trimmingCharacters(in: .newlines), at: path)
        try keeping(path) {
            if asJSON {
                try Terminal.print(json: ["keyFile": .string(path), "publicKey": .string(key.publicKey.pem)])
            } else {
                try Terminal.print(
                    "the key is in \(path); apps verify answers with\n\(TerminalText.lines(key.publicKey.pem))")
            }
        }
    }

    private static func members(of entry: APIKeys.Entry) -> JSONMembers {
        var members: JSONMembers = [
            "id": .string(entry.id), "bundleID": .string(entry.bundleID.rawValue), "kind": .string(entry.kind.rawValue),
        ]
        if let label = entry.label { members["label"] = .string(label) }
        members["createdAt"] = .string(RFC3339.string(from: entry.createdAt))
        if let usedAt = entry.usedAt { members["usedAt"] = .string(RFC3339.string(from: usedAt)) }
        if let revokedAt = entry.revokedAt { members["revokedAt"] = .string(RFC3339.string(from: revokedAt)) }
        return members
    }

    private static func line(of entry: APIKeys.Entry) -> TerminalText {
        let kind = entry.kind.rawValue.padding(toLength: 6, withPad: " ", startingAt: 0)
        let state =
            entry.revokedAt.map { "revoked \(RFC3339.string(from: $0))" }
            ?? "since \(RFC3339.string(from: entry.createdAt))"
        let use = entry.usedAt.map { "  used \(RFC3339.string(from: $0))" } ?? ""
        return "\(entry.id)  \(kind)  \(entry.bundleID)  \(state)\(use)\(entry.label.map { "  \($0)" } ?? "")"
    }
}
