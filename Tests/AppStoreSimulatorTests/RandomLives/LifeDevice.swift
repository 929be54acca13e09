import Foundation
import StoreKitAdapter
import StoreModel

@testable import AppStoreSimulator

/// A device of a random life: what it has heard, and what it must hear.
struct LifeDevice {
    let id: DeviceID
    let account: Int
    var cursor: String?
    /// Payments that have not been answered, and how they must be.
    var awaited: [PaymentID: ReferenceStore.Outcome] = [:]
    /// Payments that were answered by now, after the cursor of the time.
    private var answered: Set<PaymentID> = []
    /// Those whose answer may be told once more, since the device forgot how far it was.
    private var forgotten: Set<PaymentID> = []

    init(id: DeviceID, account: Int) {
        self.id = id
        self.account = account
    }

    /// Takes what the store told. Returns what is wrong with it.
    mutating func receive(_ answer: StoreWire.Updates, _ naive: ReferenceStore) -> String? {
        let start = cursor.flatMap(Self.date)
        guard let end = Self.date(answer.cursor) else { return "the cursor \(answer.cursor) is none" }
        let forgot = cursor == nil
        cursor = answer.cursor
        if forgot { forgotten = answered }
        let sales = naive.sales(of: account).filter { $0.purchased <= end }
        var heard: [String: Int] = [:]
        for update in answer.updates {
            guard let transaction = update.transaction else {
                if let wrong = hearFailure(update) { return wrong }
                continue
            }
            guard let sale = sales.first(where: { "\($0.id)" == transaction.id.rawValue }) else {
                return "it heard of \(transaction.id), which nobody sold by \(end)"
            }
            guard update.state != "renewalChanged" else { continue }
            heard[transaction.id.rawValue, default: 0] += 1
            guard (update.state == "revoked") == (sale.revoked != nil) else {
                return "\(sale.id) was told as \(update.state), revoked: \(sale.revoked.map { "\($0)" } ?? "no")"
            }
            if let payment = update.paymentID {
                if let wrong = receive(payment, of: sale) { return wrong }
            } else if sale.isFinished, update.state == "purchased" {
                return "\(sale.id) was told after it was finished"
            }
        }
        if let twice = heard.first(where: { $0.value > 1 }) {
            return "\(twice.key) was told \(twice.value) times at once"
        }
        for sale in sales where !sale.isFinished && start.map({ sale.purchased > $0 }) ?? true {
            // What a payment asks for anew is told where it was asked, which may be in the next answer.
            let isAwaited =
                awaited.values.contains(.had(sale.id)) && answer.updates.count >= SimulatedAppStore.updateLimit
            if heard["\(sale.id)"] == nil, !isAwaited {
                return "\(sale.id) was not told after \(start.map { "\($0)" } ?? "nothing")"
            }
        }
        return start.flatMap { missedChange(answer, naive, after: $0, until: end) }
    }

    private mutating func hearFailure(_ update: StoreWire.Update) -> String? {
        guard let payment = update.paymentID else { return "a failure without a payment was told" }
        guard awaited.removeValue(forKey: payment) == .refused || forgotten.remove(payment) != nil else {
            return "the payment \(payment) failed: \(update.failure?.reason ?? update.state)"
        }
        answered.insert(payment)
        return nil
    }

    private mutating func receive(_ payment: PaymentID, of sale: ReferenceStore.Sale) -> String? {
        guard let outcome = awaited.removeValue(forKey: payment) else {
            return forgotten.remove(payment) != nil ? nil : "\(payment) was answered twice"
        }
        answered.insert(payment)
        switch outcome {
        case .sold(sale.id), .had(sale.id): return nil
        default: return "\(payment) was answered by \(sale.id), expected was \(outcome)"
        }
    }

    private func missedChange(
        _ answer: StoreWire.Updates, _ naive: ReferenceStore, after start: Date, until end: Date
    ) -> String? {
        for subscription in naive.subscriptions where subscription.account == account {
            guard let change = subscription.changes.first(where: { $0 > start && $0 <= end }) else { continue }
            let original = "\(subscription.sales[0].id)"
            if !answer.updates.contains(where: { $0.transaction?.originalID.rawValue == original }) {
                return "the change of \(original) at \(change) was not told after \(start) by \(end)"
            }
        }
        return nil
    }

    /// A cursor begins with the instant up to which everything was told, in microseconds.
    private static func date(_ cursor: String) -> Date? {
        cursor.split(separator: ".").first.flatMap { Double($0) }.map { Date(timeIntervalSince1970: $0 / 1_000_000) }
    }
}
