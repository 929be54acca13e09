import AppStorePayloads
import Foundation
import Primitives
import StoreModel

/// The decisions of the store about refund requests, as the setting `refundDecisions` demands.
///
/// A request is decided when the app's server answers it, or 12 hours of virtual time after it if the server does not
/// answer. Apple weighs more than the answer; this store follows it.
extension SimulatedAppStore {
    /// The virtual time in which the app's server can answer, in seconds.
    static let refundAnswerTime: TimeInterval = 12 * 3600

    /// Decides the request for a transaction, if one is open and the store decides by itself.
    func decideRefund(of transaction: Int64) async throws {
        guard try refundDecider() != nil else { return }
        try await recordEvent({ try $0.existingAccount(ofTransaction: transaction) }) { event in
            guard let decider = RefundDecider(event.settings), let sale = try event.knownSale(of: transaction),
                sale.transaction.revocation == nil,
                let request = try event.db.openRefundRequest(of: transaction)
            else { return }
            let report = try event.db.consumption(of: transaction).flatMap { $0.at >= request.at ? $0.report : nil }
            switch decider.decision(on: sale, answered: report) {
            case .decline:
                _ = try event.db.declineRefundRequest(of: transaction, at: event.now)
                try event.notify(.refundDeclined, of: sale)
            case .refund(let percentage):
                let revocation = Revocation(
                    at: sale.now, kind: percentage == nil ? .refundFull : .refundProrated, reason: 0,
                    percentage: percentage)
                try event.takeBack(sale, revocation)
            }
        }
    }

    /// Decides the requests whose time for an answer has ended. Returns the instant of the next such end.
    @discardableResult
    func decideOverdueRefunds() async throws -> Date? {
        guard try refundDecider() != nil else { return nil }
        var last: Int64?
        while true {
            let (overdue, next) = try database.read { [virtualClock] sql in
                let db = SimulatorDatabase(sql)
                let now = try db.now(virtualClock)
                let oldest = try db.oldestOpenRefundRequest()
                let end = oldest?.at.addingTimeInterval(Self.refundAnswerTime)
                return (end.map { $0 <= now } ?? false ? oldest?.transaction : nil, end)
            }
            guard let overdue else { return next }
            // A request that cannot be decided stays open, and must not be tried without end.
            guard overdue != last else { return nil }
            last = overdue
            try await decideRefund(of: overdue)
        }
    }

    /// The rule of the store; `nil` if tests and people decide.
    private func refundDecider() throws -> RefundDecider? {
        try database.read { try RefundDecider(SimulatorDatabase($0).settings()) }
    }
}

/// The rule by which the store decides refund requests.
enum RefundDecider: String, CaseIterable, Sendable {
    /// As the server's answer prefers. Without a preference the whole price is refunded.
    case preference
    case refund, decline

    enum Decision: Hashable, Sendable {
        case decline
        /// A refund of a part of the price, in thousandths of a percent; `nil` means the whole price.
        case refund(Int?)
    }

    /// The value of the setting for which tests and people decide.
    static let manual = "manual"

    /// Returns `nil` if the store does not decide by itself.
    init?(_ settings: [String: JSONValue]) {
        guard let text = settings[StoreSetting.refundDecisions.name]?.stringValue else { return nil }
        self.init(rawValue: text)
    }

    func decision(on sale: Sale, answered report: ConsumptionReport?) -> Decision {
        switch self {
        case .decline: return .decline
        case .refund: return .refund(nil)
        case .preference: break
        }
        guard let report else { return .refund(nil) }
        if report.version == 1 {
            let preference = AppStoreServerAPI.ConsumptionRequestV1(unchecked: report.members).refundPreference
            return preference == .preferDecline ? .decline : .refund(nil)
        }
        let answer = AppStoreServerAPI.ConsumptionRequest(unchecked: report.members)
        switch answer.refundPreference {
        case .decline?: return .decline
        case .grantProrated?:
            let unused = Self.unusedPart(of: sale, consumed: answer.consumptionPercentage)
            return unused > 0 ? .refund(unused) : .decline
        default: return .refund(nil)
        }
    }

    /// Returns the unused part of a purchase in thousandths of a percent: of a subscription the rest of the period, and
    /// of other products what the server did not report as consumed.
    private static func unusedPart(of sale: Sale, consumed: Int?) -> Int {
        let transaction = sale.transaction
        guard transaction.kind == .autoRenewableSubscription, let end = transaction.expiresDate else {
            return 100_000 - min(max(consumed ?? 0, 0), 100_000)
        }
        let period = end.timeIntervalSince(transaction.purchaseDate)
        guard period > 0 else { return 0 }
        let rest = max(0, end.timeIntervalSince(sale.now))
        return Int((min(1, rest / period) * 100_000).rounded())
    }
}

extension SimulatorEvent {
    /// Revokes a transaction and its shares, and closes its refund request.
    mutating func takeBack(_ sale: Sale, _ revocation: Revocation) throws {
        try record(StoreRules.revoke(sale.transaction, sale.state, revocation))
        try db.closeRefundRequest(of: sale.transaction.id)
        for share in try shares(of: sale) { try record([.update(StoreRules.update(of: share, .revoked))]) }
        if sale.transaction.seats != nil { try releaseRefundedSeats(of: sale.transaction.originalID) }
    }
}
