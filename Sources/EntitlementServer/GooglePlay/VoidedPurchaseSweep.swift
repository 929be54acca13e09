import Foundation
import GooglePlay
import Primitives
import SQLStorage
import StoreModel

/// Reads Google Play's list of voided purchases, so that a refund or a chargeback is known even if its notification was
/// lost. Each voided purchase that the ledger has is fetched again.
///
/// The ledger stores until when the list was read. The next list begins an hour before, because the clocks differ and
/// Google may list an entry late. The position is stored after all purchases of a list, so a crash repeats the list.
struct VoidedPurchaseSweep: Sendable {
    /// The time in seconds for which two lists overlap.
    static let overlap: TimeInterval = 3600
    /// The difference of clocks, in seconds, up to which a fetch may have missed an entry that seems older.
    private static let clockDifference: TimeInterval = 600
    /// Google lists 30 days. An older start is refused, so a list without a start replaces it.
    private static let longestList: TimeInterval = 30 * 86_400 - 3600
    private static let maximumPages = 10_000

    let ledger: Ledger
    let readers: [PlayReader]

    /// Reads the lists of all apps. Returns `false`: there is nothing more to do before the next list.
    ///
    /// Throws `GooglePlayFailure` and the errors of the ledger, after the other apps.
    func step() async throws -> Bool {
        var failure: (any Error)?
        for reader in readers {
            do { try await sweep(reader) } catch { failure = error }
            try Task.checkCancellation()
        }
        if let failure { throw failure }
        return false
    }

    private func sweep(_ reader: PlayReader) async throws {
        let now = ledger.clock.now()
        // Without a fetch, the ledger has no purchase of the app.
        guard let position = try ledger.voidedPosition(of: reader.app) else { return }
        let start = position.until.flatMap { until in
            now.timeIntervalSince(until) < Self.longestList - Self.overlap
                ? until.addingTimeInterval(-Self.overlap) : nil
        }
        var page: String?
        for _ in 0..<Self.maximumPages {
            let list = try await reader.source.client.voidedPurchases(since: start, page: page)
            for voided in list.voidedPurchases ?? [] { try await record(voided, of: reader) }
            guard let next = list.tokenPagination?.nextPageToken, !next.isEmpty else {
                return try await ledger.storeVoidedPosition(now, of: reader.app)
            }
            guard next != page else { break }
            page = next
        }
        throw GooglePlayFailure(.unavailable, "Google Play's list of voided purchases does not end.")
    }

    /// Fetches a voided purchase that the ledger has, unless the ledger knows the entry.
    ///
    /// The state of a one-time product does not show each refund, so the entry itself is stored with the fetch. A
    /// subscription, and a refund of a part of the quantity, show their present state.
    private func record(_ voided: AndroidPublisher.VoidedPurchase, of reader: PlayReader) async throws {
        guard let token = voided.purchaseToken.flatMap(PurchaseToken.init) else { return }
        let original = PlayFetch.original(token, of: reader.source.packageName)
        let listed = voided.voidedTimeMillis.map { Date(milliseconds: $0.value) }
        for ledgerID in reader.ledgerIDs {
            guard let (purchase, _) = try ledger.playPurchase(original, in: ledgerID) else { continue }
            if let order = voided.orderId.flatMap(TransactionID.init(rawValue:)) {
                try await ledger.keepOutcome(of: order, original, at: listed ?? ledger.clock.now(), in: ledgerID)
            }
            let isWhole = purchase.kind != .autoRenewableSubscription && voided.voidedQuantity == nil
            let isKnown =
                isWhole
                ? purchase.voidedAt != nil
                : listed.map { purchase.fetchedAt > $0.addingTimeInterval(Self.clockDifference) } ?? false
            guard !isKnown else { continue }
            do {
                try await reader.refresh(
                    token, of: purchase, voidedAt: isWhole ? listed ?? ledger.clock.now() : nil)
            } catch is PlayReader.Rejection {
                // Google forgets a subscription 60 days after its end. What the ledger has remains.
            }
        }
    }
}

/// The position of an app in the list of voided purchases.
private struct VoidedPosition {
    /// The end of the last complete list; `nil` before the first.
    let until: Date?
}

extension Ledger {
    /// Returns `nil` for an app without a fetched purchase.
    fileprivate func voidedPosition(of app: BundleID) throws -> VoidedPosition? {
        try database.read { connection in
            try connection.first("SELECT voided_until FROM play_app WHERE app = ?1", [.text(app.rawValue)]).map { row in
                let until: Int64? = try row["voided_until"]
                return VoidedPosition(until: until.map { Date(milliseconds: $0) })
            }
        }
    }

    fileprivate func storeVoidedPosition(_ until: Date, of app: BundleID) async throws {
        try await database.write { connection in
            try connection.perform(
                """
                UPDATE play_app SET voided_until = ?2
                WHERE app = ?1 AND (voided_until IS NULL OR voided_until < ?2)
                """, [.text(app.rawValue), .integer(until.milliseconds)])
        }
    }
}
