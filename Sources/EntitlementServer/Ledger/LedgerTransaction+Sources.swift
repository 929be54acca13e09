import AppStorePayloads
import Foundation
import Primitives
import SQLStorage
import SignedData
import StoreModel

/// The source of a fact (a JWS, the JSON of a receipt's purchase, or the request of a web shop) contains personal data,
/// so it is encrypted (AES-256-GCM) with a key per purchase. The erasure of a customer deletes the keys of purchases
/// that no other customer has. The sources of these purchases can then be read only in a backup from before the
/// erasure.
extension LedgerTransaction {
    struct Sealed {
        let key: Int64
        let bytes: [UInt8]
    }

    /// Encrypts a fact's source with the key of its purchase. Creates the key and the purchase if necessary. Returns
    /// `nil` for an erased purchase, whose sources are not stored.
    ///
    /// - Parameters:
    ///   - awaited: The app account token by which a later customer may get the purchase; `nil` if there is none.
    ///   - prepared: The source, encrypted already with a new key. The purchase gets that key if it has none.
    mutating func seal(
        _ source: @autoclosure () -> [UInt8], of row: FactRow, in purchase: Purchase?, awaiting awaited: UUID?,
        or prepared: SealedSource? = nil
    ) throws -> Sealed? {
        if let purchase, purchase.isErased { return nil }
        if let present = purchase?.dataKey, let key = try key(present) {
            return Sealed(key: present, bytes: try key.seal(source(), authenticating: row.digest))
        }
        let sealed = try keep(prepared ?? SealedSource(source(), authenticating: row.digest))
        let states = unwritten.contains(row.original) ? ", app_account_token = excluded.app_account_token" : ""
        try connection.perform(
            """
            INSERT INTO purchase (app, environment, original_transaction_id, data_key, app_account_token)
            VALUES (?1, ?2, ?3, ?4, ?5)
            ON CONFLICT (app, environment, original_transaction_id) DO UPDATE SET data_key = ?4\(states)
            """, values(.text(row.original.rawValue), .integer(sealed.key), SQLValue(awaited?.wireText)))
        if let awaited { locked.usedTokens.insert(awaited) }
        return sealed
    }

    /// Stores the key of an encrypted source.
    func keep(_ sealed: SealedSource) throws -> Sealed {
        let key = try connection.insert(
            "INSERT INTO data_key (app, environment, key) VALUES (?1, ?2, ?3)", values(.blob(sealed.key)), key: "id")
        guard let key else {
            throw EntitlementServerError(.internalInconsistency, "The ledger did not store a data key.")
        }
        return Sealed(key: key, bytes: sealed.bytes)
    }

    /// Returns the key with this number; `nil` after its deletion.
    func key(_ id: Int64) throws -> AES256GCM? {
        try connection.first("SELECT key FROM data_key WHERE id = ?1", [.integer(id)])
            .map { try AES256GCM(key: try $0["key"]) }
    }

    /// Returns the source of a fact, from its columns data_key, digest, header and source_bytes; `nil` after an
    /// erasure.
    func source(in row: SQLRow) throws -> [UInt8]? {
        let id: Int64? = try row["data_key"]
        guard let id, let key = try key(id) else { return nil }
        let rest = try key.open(try row["source_bytes"], authenticating: try row["digest"])
        let header: Int64? = try row["header"]
        return try header.map { try self.header($0) + rest } ?? rest
    }
}

/// A source encrypted with a new key that is not stored yet.
struct SealedSource: Sendable {
    let key: [UInt8]
    let bytes: [UInt8]

    init(_ source: [UInt8], authenticating context: [UInt8]) throws {
        key = try AES256GCM.generateKey()
        bytes = try AES256GCM(key: key).seal(source, authenticating: context)
    }
}

extension FactFormat {
    /// Returns the JSON of a source: the second segment of a JWS, or the source itself.
    func payload(of source: [UInt8]) throws -> [UInt8] {
        guard self == .jws else { return source }
        let dot = UInt8(ascii: ".")
        guard let first = source.index(ofByte: dot), let second = source.index(ofByte: dot, from: first + 1),
            source.index(ofByte: dot, from: second + 1) == nil,
            let payload = Base64.decodeURL(source[(first + 1)..<second])
        else {
            throw EntitlementServerError(.internalInconsistency, "A signed source in the ledger is not a JWS.")
        }
        return payload
    }
}

extension Ledger {
    /// Adds summaries to facts of early versions, and encrypts their sources. It changes no other facts, and can be
    /// interrupted.
    func sealOpenFacts() async throws {
        while try await sealSomeOpenFacts() {}
    }

    private func sealSomeOpenFacts() async throws -> Bool {
        try await database.write { [self] connection in
            let rows = try connection.query(
                """
                SELECT sequence, app, environment, kind, digest, source_bytes FROM fact WHERE summary IS NULL
                ORDER BY sequence LIMIT 500
                """)
            for row in rows {
                guard let app = BundleID(rawValue: try row["app"]) else { continue }
                let environment = StoreEnvironment(rawValue: try row["environment"])
                var transaction = transaction(connection, on: LedgerID(app: app, environment: environment))
                let source: [UInt8] = try row["source_bytes"]
                let digest: [UInt8] = try row["digest"]
                let payload = try JSONValue(parsing: try FactFormat.jws.payload(of: source))
                let content: PresentedFact.Content =
                    try row["kind"] == FactRow.transaction
                    ? .transaction(try TransactionFact(JWSTransactionDecodedPayload(json: payload), digest: digest))
                    : .renewal(try RenewalFact(JWSRenewalInfoDecodedPayload(json: payload), digest: digest))
                let fact = FactRow(content, .jws)
                let sealed = try transaction.seal(
                    source, of: fact, in: transaction.purchase(fact.original), awaiting: fact.token)
                try connection.perform(
                    "UPDATE fact SET summary = ?2, data_key = ?3, source_bytes = ?4 WHERE sequence = ?1",
                    [
                        .integer(try row["sequence"]), .text(fact.summary), SQLValue(sealed?.key),
                        .blob(sealed?.bytes ?? []),
                    ])
            }
            return !rows.isEmpty
        }
    }
}
