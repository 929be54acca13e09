import AppStorePayloads
import Foundation
import Primitives
import SQLStorage
import SimulatorControl
import StoreModel

/// The images and messages of Retention Messaging, and the messages that customers saw.
extension SimulatorDatabase {
    // MARK: - Images

    func retentionImages() throws -> [UploadedImage] {
        try sql.query("SELECT * FROM retention_image ORDER BY at, id").map(Self.retentionImage)
    }

    func retentionImage(_ id: UUID) throws -> UploadedImage? {
        try sql.first("SELECT * FROM retention_image WHERE id = ?1", [.text(id.lowercased)]).map(Self.retentionImage)
    }

    func insert(_ image: UploadedImage) throws {
        try sql.execute(
            "INSERT INTO retention_image (id, at, size, width, height, digest, state) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            [
                .text(image.id.lowercased), .integer(image.at.microseconds), .text(image.size.rawValue),
                .integer(Int64(image.width)), .integer(Int64(image.height)), .text(image.digest),
                .text(image.state.rawValue),
            ])
    }

    /// Sets the state of an image. Returns `false` if there is none.
    func setState(ofImage id: UUID, _ state: String) throws -> Bool {
        try sql.execute(
            "UPDATE retention_image SET state = ?2 WHERE id = ?1", [.text(id.lowercased), .text(state)]) > 0
    }

    func deleteRetentionImage(_ id: UUID) throws {
        try sql.execute("DELETE FROM retention_image WHERE id = ?1", [.text(id.lowercased)])
    }

    static func retentionImage(_ row: SQLRow) throws -> UploadedImage {
        UploadedImage(
            id: try identifier(row), at: try row.date("at"), size: .init(rawValue: try row["size"]),
            width: try row["width"], height: try row["height"], digest: try row["digest"],
            state: .init(rawValue: try row["state"]))
    }

    // MARK: - Messages

    func retentionMessages() throws -> [UploadedMessage] {
        try sql.query("SELECT * FROM retention_message ORDER BY at, id").map(Self.retentionMessage)
    }

    func retentionMessage(_ id: UUID) throws -> UploadedMessage? {
        try sql.first("SELECT * FROM retention_message WHERE id = ?1", [.text(id.lowercased)])
            .map(Self.retentionMessage)
    }

    func insert(_ message: UploadedMessage) throws {
        try sql.execute(
            "INSERT INTO retention_message (id, at, body, state) VALUES (?1, ?2, ?3, ?4)",
            [
                .text(message.id.lowercased), .integer(message.at.microseconds), .text(message.body.json.text()),
                .text(message.state.rawValue),
            ])
    }

    /// Sets the state of a message. Returns `false` if there is none.
    func setState(ofMessage id: UUID, _ state: String) throws -> Bool {
        try sql.execute(
            "UPDATE retention_message SET state = ?2 WHERE id = ?1", [.text(id.lowercased), .text(state)]) > 0
    }

    /// Deletes a message, and the default messages that use it.
    func deleteRetentionMessage(_ id: UUID) throws {
        try sql.execute("DELETE FROM default_message WHERE message = ?1", [.text(id.lowercased)])
        try sql.execute("DELETE FROM retention_message WHERE id = ?1", [.text(id.lowercased)])
    }

    static func retentionMessage(_ row: SQLRow) throws -> UploadedMessage {
        UploadedMessage(
            id: try identifier(row), at: try row.date("at"),
            body: try .init(json: JSONValue(parsing: row["body"] as String)), state: .init(rawValue: try row["state"]))
    }

    private static func identifier(_ row: SQLRow) throws -> UUID {
        guard let id = try row.id("id") else {
            throw SQLError(.unexpectedValue, "The simulator database has an identifier that is not a UUID.")
        }
        return id
    }

    // MARK: - Default messages

    func defaultMessage(of product: ProductID, locale: String) throws -> UUID? {
        try sql.first(
            "SELECT message FROM default_message WHERE product = ?1 AND locale = ?2",
            [.text(product.rawValue), .text(locale)])?.id("message")
    }

    func setDefaultMessage(_ message: UUID, of product: ProductID, locale: String) throws {
        try sql.execute(
            "INSERT OR REPLACE INTO default_message (product, locale, message) VALUES (?1, ?2, ?3)",
            [.text(product.rawValue), .text(locale), .text(message.lowercased)])
    }

    /// Removes a default message. Returns `false` if there is none.
    func deleteDefaultMessage(of product: ProductID, locale: String) throws -> Bool {
        try sql.execute(
            "DELETE FROM default_message WHERE product = ?1 AND locale = ?2",
            [.text(product.rawValue), .text(locale)]) > 0
    }

    /// Returns the products and locales that have a default message, by the message.
    func defaultMessages() throws -> [UUID: [StoreControlWire.RetentionUploads.Place]] {
        var places: [UUID: [StoreControlWire.RetentionUploads.Place]] = [:]
        for row in try sql.query("SELECT * FROM default_message ORDER BY product, locale") {
            guard let message = try row.id("message") else { continue }
            places[message, default: []].append(
                .init(productID: ProductID(unchecked: try row["product"]), locale: try row["locale"]))
        }
        return places
    }

    var hasDefaultMessages: Bool {
        get throws { try sql.first("SELECT 1 FROM default_message LIMIT 1") != nil }
    }

    // MARK: - Shown messages

    /// Stores what a customer saw, and returns it with its number.
    func insert(
        _ shown: StoreControlWire.RetentionMessage, of account: Int64
    ) throws -> StoreControlWire.RetentionMessage {
        var shown = shown
        shown.number = try nextShownMessage()
        try sql.execute(
            "INSERT INTO shown_message (id, account, at, body) VALUES (?1, ?2, ?3, ?4)",
            [
                .integer(shown.number), .integer(account), .integer(shown.at.microseconds),
                .text(try Self.text(of: shown)),
            ])
        return shown
    }

    /// Replaces what a customer saw. Does nothing if an import has replaced it meanwhile.
    func replace(
        _ old: StoreControlWire.RetentionMessage, with new: StoreControlWire.RetentionMessage
    ) throws {
        try sql.execute(
            "UPDATE shown_message SET body = ?3 WHERE id = ?1 AND body = ?2",
            [.integer(old.number), .text(try Self.text(of: old)), .text(try Self.text(of: new))])
    }

    /// Returns the identifier of the realtime request for the next shown message. It follows from the store's seed.
    ///
    /// An imported state has another revision of the clock, so its new requests get other identifiers.
    func nextRealtimeRequest() throws -> UUID {
        UUID(
            namespace: .simulatedStore,
            name: "realtime request \(try seed()) \(try clock().revision) \(try nextShownMessage())")
    }

    private func nextShownMessage() throws -> Int64 {
        let last: Int64? = try sql.first("SELECT max(id) AS id FROM shown_message")?["id"]
        try ColumnRange.check(last ?? 0, in: ColumnRange.readable, as: "the number of a shown message")
        return (last ?? 0) + 1
    }

    private static func text(of shown: StoreControlWire.RetentionMessage) throws -> String {
        String(decoding: try WireJSON.encode(shown), as: UTF8.self)
    }

    func shownMessages(
        of account: Int64?, after: Int64, limit: Int
    ) throws -> [StoreControlWire.RetentionMessage] {
        try sql.query(
            "SELECT * FROM shown_message WHERE id > ?1 AND (?2 IS NULL OR account = ?2) ORDER BY id LIMIT ?3",
            [.integer(after), SQLValue(account), .integer(Int64(limit))]
        ).map(Self.shownMessage)
    }

    static func shownMessage(_ row: SQLRow) throws -> StoreControlWire.RetentionMessage {
        let text: String = try row["body"]
        return try WireJSON.decode(StoreControlWire.RetentionMessage.self, from: Array(text.utf8))
    }

    // MARK: - Performance tests

    func performanceTest(_ id: UUID) throws -> AppStoreServerAPI.PerformanceTestResultResponse? {
        try sql.first("SELECT body FROM performance_test WHERE id = ?1", [.text(id.lowercased)])
            .map { try .init(json: JSONValue(parsing: $0["body"] as String)) }
    }

    /// Stores a performance test, or its results.
    func save(_ test: AppStoreServerAPI.PerformanceTestResultResponse, _ id: UUID, at now: Date) throws {
        try sql.execute(
            """
            INSERT INTO performance_test (id, at, is_running, body) VALUES (?1, ?2, ?3, ?4)
            ON CONFLICT (id) DO UPDATE SET is_running = excluded.is_running, body = excluded.body
            """,
            [
                .text(id.lowercased), .integer(now.microseconds), SQLValue(test.result == .pending),
                .text(test.json.text()),
            ])
    }

    /// Returns the identifier of the next performance test. It follows from the store's seed, as that of a realtime
    /// request does.
    func nextPerformanceTest() throws -> UUID {
        let count: Int64 = try sql.first("SELECT count(*) AS count FROM performance_test")?["count"] ?? 0
        return UUID(
            namespace: .simulatedStore, name: "performance test \(try seed()) \(try clock().revision) \(count + 1)")
    }

    var hasRunningPerformanceTest: Bool {
        get throws { try sql.first("SELECT 1 FROM performance_test WHERE is_running = 1 LIMIT 1") != nil }
    }

    /// Ends the tests that another run of the store began. Their requests without a result have failed.
    func endLostPerformanceTests() throws {
        for row in try sql.query("SELECT * FROM performance_test WHERE is_running = 1") {
            var test = try AppStoreServerAPI.PerformanceTestResultResponse(
                json: JSONValue(parsing: row["body"] as String))
            test.end(failures: [.other: test.numPending ?? 0], times: [])
            try save(test, try Self.identifier(row), at: try row.date("at"))
        }
    }
}

extension UUID {
    /// The UUID as Apple writes it.
    var lowercased: String { uuidString.lowercased() }
}
