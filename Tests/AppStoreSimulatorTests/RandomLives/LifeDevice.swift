import Foundation
import StoreKitAdapter
import StoreModel

@testable import AppStoreSimulator

/// A device of a random history: the updates that it has received, and those that it must receive.
struct LifeDevice {
    let id: DeviceID
    let account: Int
    var cursor: String?
    /// The payments without an answer, each with its expected outcome.
    var awaited: [PaymentID: ReferenceStore.Outcome] = [:]
    /// The payments answered since the cursor.
    private var answered: Set<PaymentID> = []
    /// The payments whose answer can be repeated, because the device lost its cursor.
    private var forgotten: Set<PaymentID> = []

    init(id: DeviceID, account: Int) {
        self.id = id
        self.account = account
    }

    /// Receives updates of the store. Returns a description of the first fault in them, if any.
    mutating func receive(_ answer: StoreWire.Updates, _ reference: ReferenceStore) -> String? {
        let start = cursor.flatMap(Self.date)
        guard let end = Self.date(answer.cursor) else { return "the cursor \(answer.cursor) is malformed" }
        let forgot = cursor == nil
        cursor = answer.cursor
        if forgot { forgotten = answered }
        let sales = reference.sales(of: account).filter { $0.purchased <= end }
        var received: [String: Int] = [:]
        for update in answer.updates {
            guard let transaction = update.transaction else {
                if let wrong = receiveFailure(update) { return wrong }
                continue
            }
            guard let sale = sales.first(where: { "\($0.id)" == transaction.id.rawValue }) else {
                return "\(transaction.id) was reported, but not sold by \(end)"
            }
            guard update.state != "renewalChanged" else { continue }
            received[transaction.id.rawValue, default: 0] += 1
            guard (update.state == "revoked") == (sale.revoked != nil) else {
                return "\(sale.id) was reported as \(update.state), revoked: \(sale.revoked.map { "\($0)" } ?? "no")"
            }
            if let payment = update.paymentID {
                if let wrong = receive(payment, of: sale) { return wrong }
            } else if sale.isFinished, update.state == "purchased" {
                return "\(sale.id) was reported after it was finished"
            }
        }
        if let twice = received.first(where: { $0.value > 1 }) {
            return "\(twice.key) was reported \(twice.value) times at once"
        }
        for sale in sales where !sale.isFinished && start.map({ sale.purchased > $0 }) ?? true {
            // An update for a repeated payment goes to its device, and can be in the next answer.
            let isAwaited =
                awaited.values.contains(.existing(sale.id)) && answer.updates.count >= SimulatedAppStore.updateLimit
            if received["\(sale.id)"] == nil, !isAwaited {
                return "\(sale.id) was not reported after \(start.map { "\($0)" } ?? "nothing")"
            }
        }
        return start.flatMap { missedChange(answer, reference, after: $0, until: end) }
    }

    private mutating func receiveFailure(_ update: StoreWire.Update) -> String? {
        guard let payment = update.paymentID else { return "a failure without a payment was reported" }
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
        case .sold(sale.id), .existing(sale.id): return nil
        default: return "\(payment) was answered by \(sale.id), expected was \(outcome)"
        }
    }

    private func missedChange(
        _ answer: StoreWire.Updates, _ reference: ReferenceStore, after start: Date, until end: Date
    ) -> String? {
        for subscription in reference.subscriptions where subscription.account == account {
            guard let change = subscription.changes.first(where: { $0 > start && $0 <= end }) else { continue }
            let original = "\(subscription.sales[0].id)"
            if !answer.updates.contains(where: { $0.transaction?.originalID.rawValue == original }) {
                return "the change of \(original) at \(change) was not reported after \(start) by \(end)"
            }
        }
        return nil
    }

    /// Returns the instant of a cursor: its first part, in microseconds.
    private static func date(_ cursor: String) -> Date? {
        cursor.split(separator: ".").first.flatMap { Double($0) }.map { Date(timeIntervalSince1970: $0 / 1_000_000) }
    }
}
