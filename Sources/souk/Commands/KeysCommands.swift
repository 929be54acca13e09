import EntitlementServer
import Foundation
import Primitives
import SQLStorage
import SignedData
import StoreModel

/// `souk keys`: who may ask the entitlement server, and what it signs its answers with.
enum KeysCommands {
    private static let json = Command.Option(name: "json", help: "print one JSON value")
    private static let bundle = Command.Option(name: "bundle-id", value: "B", help: "the app; all of them for list")

    static let create = Command(
        words: ["keys", "create"], summary: "make an API key, or a key to sign answers with",
        options: [
            LedgerPlace.option, .init(name: "bundle-id", value: "B", help: "the app it is for"),
            .init(name: "kind", value: "K", help: "public, for apps, or secret, for servers (secret)"),
            .init(name: "label", value: "TEXT", help: "what you call it"),
            .init(name: "out", value: "FILE", help: "where the key goes, readable by you alone; - prints it"),
            .init(
                name: "signing", value: "FILE",
                help: "make an Ed25519 key for souk serve --signing-key instead; - prints it"),
            json,
        ],
        details: """
            The ledger keeps a digest only: this is the one time the key can be read. A running server lets it in at once.
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
        let ledger = try LedgerPlace(arguments)
        let app: BundleID = try Arguments.identifier(arguments.required("bundle-id"), called: "--bundle-id")
        let name = arguments.text("kind") ?? KeyKind.secret.rawValue
        guard let kind = KeyKind(rawValue: name) else { throw Misuse("--kind is public or secret, not \(name.quoted)") }
        _ = try await ledger.beside { database in
            try await managing {
                try await APIKeys(database: database).create(kind, for: app, label: arguments.text("label")) {
                    entry, key in
                    try hand(key, entry, to: arguments, of: ledger)
                }
            }
        }
        return .success
    }

    static let list = Command(
        words: ["keys", "list"], summary: "the API keys of a ledger, without what lets anybody in",
        options: [LedgerPlace.option, bundle, json]
    ) { arguments in
        let app: BundleID? = try arguments.identifier("bundle-id")
        let entries = try await LedgerPlace(arguments).beside { try APIKeys(database: $0).list(of: app) }
        if arguments.has("json") {
            try Terminal.print(json: ["keys": .array(entries.map { .object(members(of: $0)) })])
        } else {
            for entry in entries { try Terminal.print(line(of: entry)) }
        }
        return .success
    }

    static let revoke = Command(
        words: ["keys", "revoke"], summary: "let nobody in with an API key any more", operands: ["ID"],
        options: [LedgerPlace.option, json],
        details: "ID is as souk keys list prints it. A running server refuses the key within a second."
    ) { arguments in
        let entry = try await LedgerPlace(arguments).beside { database in
            try await managing { try await APIKeys(database: database).revoke(arguments.operands[0]) }
        }
        if arguments.has("json") {
            try Terminal.print(json: .object(members(of: entry)))
        } else {
            try Terminal.print(line(of: entry))
        }
        return .success
    }

    /// What the ledger refuses, as this command says it.
    private static func managing<Value>(_ work: () async throws -> Value) async throws -> Value {
        do { return try await work() } catch let error as EntitlementServerError { throw Misuse(error.reason) }
    }

    // MARK: - Handing out

    private static func hand(
        _ key: String, _ entry: APIKeys.Entry, to arguments: Arguments, of ledger: LedgerPlace
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

    /// Runs `tell`; when what it has to say cannot be written, no key was made, and its file goes.
    private static func keeping(_ file: String?, _ output: () throws -> Void) throws {
        do {
            try output()
        } catch {
            if let file { unlink(file) }
            throw error
        }
    }

    /// Prints the private key alone, so that a file which standard output goes to is the key's.
    private static func printSigningKey(_ key: Ed25519.PrivateKey, asJSON: Bool) throws {
        let (secret, open) = (key.pem.trimmingCharacters(in: .newlines), key.publicKey.pem)
        if asJSON { return try Terminal.print(json: ["key": .string(secret), "publicKey": .string(open)]) }
        try Terminal.print(.lines(secret))
        Terminal.note("apps verify answers with\n\(TerminalText.lines(open))")
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
        if let revokedAt = entry.revokedAt { members["revokedAt"] = .string(RFC3339.string(from: revokedAt)) }
        return members
    }

    private static func line(of entry: APIKeys.Entry) -> TerminalText {
        let kind = entry.kind.rawValue.padding(toLength: 6, withPad: " ", startingAt: 0)
        let state =
            entry.revokedAt.map { "revoked \(RFC3339.string(from: $0))" }
            ?? "since \(RFC3339.string(from: entry.createdAt))"
        return "\(entry.id)  \(kind)  \(entry.bundleID)  \(state)\(entry.label.map { "  \($0)" } ?? "")"
    }
}
