import Foundation
import GooglePlay
import Primitives
import SQLStorage
import SimulatorControl
import StoreModel

/// The records of Google Play, in the database and the virtual time of the App Store.
extension SimulatedAppStore {
    /// The maximum number of purchases, and of their changes, in one commit.
    private static let playCommitSize = 500

    private static let noGooglePlay = SimulatorError(
        .notNow, "This store has no Google Play; start souk simulate with --play-catalog F.")

    static let playOrderNotFound = GoogleAPIError(
        .notFound, reason: "orderNotFound", "No order was found for the given order ID.", location: "orderId")

    /// Throws `notNow` if the store has no Google Play.
    func requireGooglePlay() throws -> SimulatedGooglePlay {
        guard let googlePlay else { throw Self.noGooglePlay }
        return googlePlay
    }

    /// Returns the first line that `souk simulate` prints for a store that listens at `url`. Writes the key file of the
    /// service account of Google Play, which contains that URL.
    ///
    /// Throws `SimulatorError` (`dataFolder`) if the file cannot be written.
    package func announcement(listeningAt url: String) throws -> JSONValue {
        let line = summary.announcement(listeningAt: url)
        guard let googlePlay = try announceGooglePlay(listeningAt: url), case .object(var members) = line else {
            return line
        }
        members["googlePlay"] = googlePlay
        return .object(members)
    }

    /// Writes the key file of the service account for a store that listens at `url`. Returns the member `googlePlay` of
    /// the first line of `souk simulate`; `nil` without a Google Play.
    ///
    /// Throws `SimulatorError` (`dataFolder`) if the file cannot be written.
    func announceGooglePlay(listeningAt url: String) throws -> JSONValue? {
        try googlePlay?.announce(listeningAt: url)
    }

    /// Performs all changes of purchases that are due by now: renewals, failed payments, expiry and refunds of what was
    /// not acknowledged. Returns the instant of the next one.
    ///
    /// Throws `CancellationError` between two commits if the store closes or the task is cancelled.
    func settleGooglePlay() async throws -> Date? {
        guard let googlePlay else { return nil }
        while true {
            let (isDone, next) = try await database.write { [virtualClock] sql in
                let records = try PlayDatabase(SimulatorDatabase(sql), googlePlay.catalogue.packageName)
                let now = try records.db.now(virtualClock)
                let due = try records.due(by: now, limit: Self.playCommitSize)
                var left = Self.playCommitSize
                for token in due where left > 0 {
                    guard var entry = try records.entry(token) else { throw SimulatorDatabase.empty }
                    left -= try records.settle(&entry, until: now, limit: left)
                    try records.save(entry)
                }
                return (due.count < Self.playCommitSize && left > 0, try records.nextDue())
            }
            if isDone { return next }
            if signal.isClosed { throw CancellationError() }
            try Task.checkCancellation()
        }
    }

    /// Reads the records at the present virtual time, after all changes that are due.
    func readPlayDatabase<Value: Sendable>(
        _ body: @escaping @Sendable (PlayDatabase, Date) throws -> Value
    ) async throws -> Value {
        let packageName = try requireGooglePlay().catalogue.packageName
        _ = try await settleGooglePlay()
        return try database.read { sql in
            let records = try PlayDatabase(SimulatorDatabase(sql), packageName)
            return try body(records, try records.db.now(virtualClock))
        }
    }

    /// Changes a purchase in one transaction, after the changes of it that are due. `change` returns the effects, which
    /// are written in the same transaction, and a value.
    ///
    /// Throws `GoogleAPIError` for an unknown token.
    @discardableResult
    func changePlayPurchase<Value: Sendable>(
        _ token: String,
        _ change: @escaping @Sendable (inout PlayDatabase.Entry, Date) throws -> ([PlayEffect], Value)
    ) async throws -> Value {
        try await writePlayDatabase { records, now in
            guard var entry = try records.entry(token) else { throw Self.unknownToken(token) }
            let now = max(now, entry.changedAt)
            while try records.settle(&entry, until: now, limit: Self.playCommitSize) == Self.playCommitSize {}
            let before = entry.purchase
            let (effects, value) = try change(&entry, now)
            try records.write(effects, of: entry.purchase)
            if entry.purchase != before { entry.changedAt = now }
            try records.save(entry)
            return value
        }
    }

    /// Writes to the records in one transaction, after all changes that are due, and wakes the sender of notifications.
    func writePlayDatabase<Value: Sendable>(
        _ body: @escaping @Sendable (PlayDatabase, Date) throws -> Value
    ) async throws -> Value {
        let packageName = try requireGooglePlay().catalogue.packageName
        _ = try await settleGooglePlay()
        defer { signal.raise([Self.notifications]) }
        return try await database.write { [virtualClock] sql in
            let records = try PlayDatabase(SimulatorDatabase(sql), packageName)
            return try body(records, try records.db.now(virtualClock))
        }
    }

    /// The error for a token that names no purchase. Google distinguishes strings that cannot be a token.
    private static func unknownToken(_ token: String) -> GoogleAPIError {
        guard PlayTokens.isWellFormed(token) else { return .invalid("token") }
        return GoogleAPIError(
            .notFound, reason: "purchaseTokenNotFound", "The purchase token was not found.", location: "token")
    }

    /// Refunds an order. If `revokes`, the purchase ends at once and is voided by `source`.
    ///
    /// Throws `GoogleAPIError` for an unknown order and for one that was refunded or is older than three years.
    func refundPlayOrder(
        _ id: String, revokes: Bool, source: Int, chargeback: Bool = false, quantity: Int? = nil
    ) async throws {
        try await changePlayOrder(id) { order, entry, now in
            try Self.requireRefundable(order)
            guard now <= SubscriptionPeriod.years(3).end(from: order.createTime ?? .distantPast) else {
                throw GoogleAPIError(
                    .invalidArgument, reason: "orderTooOld", "An order of over three years cannot be refunded.",
                    location: "orderId")
            }
            if chargeback { return entry.purchase.chargeBack(id, at: now) }
            switch entry.purchase {
            case .product(var purchase) where quantity != nil:
                defer { entry.purchase = .product(purchase) }
                return try purchase.refund(quantity ?? 0, at: now, source: source)
            case _ where quantity != nil:
                throw PlayRefusal("invalidValue", "Only a one-time product has a quantity.")
            case .product(var purchase) where revokes:
                defer { entry.purchase = .product(purchase) }
                return purchase.void(at: now, source: source, reason: 0)
            case .subscription(var purchase) where revokes && !purchase.isEnded:
                defer { entry.purchase = .subscription(purchase) }
                return purchase.revoke(at: now, by: .developer, voided: (source, 0), order: id)
            default: return [.refund(PlayRefund(id, at: now, voided: revokes ? (source, 0) : nil))]
            }
        }
    }

    /// Begins the review of a chargeback by the developer. Without an answer, the bank takes the payment back after 24
    /// hours.
    ///
    /// Throws `GoogleAPIError` for an unknown order, for one that was refunded, and while a review is under way.
    func beginPlayRefundReview(of id: String) async throws {
        try await changePlayOrder(id) { order, entry, now in
            try Self.requireRefundable(order)
            guard entry.purchase.info.review?.isDecided ?? true else {
                throw GoogleAPIError(
                    .invalidArgument, reason: "refundReviewPending", "A chargeback of the purchase is under review.",
                    location: "orderId")
            }
            let review = PlayRefundReview(of: id, of: entry.purchase.info, at: now)
            entry.purchase.info.review = review
            return [.reviewRequested(review, at: now)]
        }
    }

    /// Records the developer's answer to the review of a chargeback. Later answers are ignored.
    ///
    /// Throws `GoogleAPIError` for an unknown order, and for a token of another review.
    func reviewPlayRefund(
        of id: String, _ token: String, _ preference: AndroidPublisher.RefundPreference
    ) async throws {
        try await changePlayOrder(id) { _, entry, _ in
            guard var review = entry.purchase.info.review, review.orderID.hasSameBytes(as: id),
                review.token.hasSameBytes(as: token)
            else {
                throw GoogleAPIError.invalid(
                    "pendingRefundToken", "The pendingRefundToken is not that of a review of the order.")
            }
            if review.preference == nil, !review.isDecided { review.preference = preference }
            entry.purchase.info.review = review
            return []
        }
    }

    /// Changes the purchase of an order in one transaction, after the changes that are due.
    private func changePlayOrder(
        _ id: String,
        _ change: @escaping @Sendable (AndroidPublisher.Order, inout PlayDatabase.Entry, Date) throws -> [PlayEffect]
    ) async throws {
        try await writePlayDatabase { records, now in
            guard let token = try records.order(id)?.purchaseToken, var entry = try records.entry(token) else {
                throw Self.playOrderNotFound
            }
            let now = max(now, entry.changedAt)
            while try records.settle(&entry, until: now, limit: Self.playCommitSize) == Self.playCommitSize {}
            guard let order = try records.order(id) else { throw Self.playOrderNotFound }
            let effects = try change(order, &entry, now)
            try records.write(effects, of: entry.purchase)
            entry.changedAt = now
            try records.save(entry)
        }
    }

    private static func requireRefundable(_ order: AndroidPublisher.Order) throws(GoogleAPIError) {
        guard order.state == .processed || order.state == .partiallyRefunded else {
            throw GoogleAPIError(
                .invalidArgument, reason: "orderNotRefundable", "The order was refunded already.", location: "orderId")
        }
    }
}

/// Derives the tokens and order ids of purchases from the seed of the store.
struct PlayTokens {
    let token: String
    let orderID: String

    /// The separator between the two parts of a token.
    private static let separator = ".AO-J1O"

    init(seed: UInt64, revision: Int64, number: Int64) {
        let digest = SHA256.hash(Array("play purchase \(seed) \(revision) \(number)".utf8))
        let letters = digest.prefix(24).map { Character(Unicode.Scalar(UInt8(ascii: "a") + $0 % 26)) }
        let rest = SHA256.hash(digest) + SHA256.hash(Array("play token \(seed) \(revision) \(number)".utf8))
        token = String(letters) + Self.separator + Base64.encodeURL(rest)
        let digits = SHA256.hash(Array("play order \(seed) \(revision) \(number)".utf8)).map { "\($0 % 10)" }.joined()
        var groups: [Substring] = []
        var start = digits.startIndex
        for length in [4, 4, 4, 5] {
            let end = digits.index(start, offsetBy: length)
            groups.append(digits[start..<end])
            start = end
        }
        orderID = "GPA." + groups.joined(separator: "-")
    }

    /// Returns whether a string has the form of a token.
    static func isWellFormed(_ token: String) -> Bool {
        guard let range = token.range(of: separator), token.distance(from: token.startIndex, to: range.lowerBound) == 24
        else { return false }
        return token[..<range.lowerBound].utf8.allSatisfy { (0x61...0x7A).contains($0) }
            && Base64.decodeURL(String(token[range.upperBound...]))?.count == 64
    }
}
