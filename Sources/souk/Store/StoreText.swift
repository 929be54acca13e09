import SimulatorControl
import Foundation
import Primitives
import StoreKitAdapter
import StoreModel

/// Formats the simulator's responses as text.
enum StoreText {
    /// Returns a table with a line of titles, or "none" if there are no rows.
    static func table(_ titles: [String], _ rows: [[String]]) -> TerminalText {
        guard !rows.isEmpty else { return "none" }
        let rows = rows.map { $0.map(TerminalText.escaped) }
        let widths = titles.indices.map { column in ([titles] + rows).map { $0[column].count }.max() ?? 0 }
        func line(_ cells: [String]) -> TerminalText {
            let padded = zip(cells, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }
            return "\(padded.joined(separator: "  ").trimmingTrailingSpaces())"
        }
        return ([Terminal.dim(line(titles))] + rows.map(line)).joined(separator: "\n")
    }

    /// `2026-01-31 10:00:00`, in UTC.
    static func date(_ date: Date?) -> String {
        guard let date else { return "–" }
        return String(RFC3339.string(from: date).prefix(19)).replacingOccurrences(of: "T", with: " ")
    }

    static func line(_ transaction: StoreControlWire.Transaction) -> TerminalText {
        let end = transaction.expiresDate.map { ", until \(date($0))" } ?? ""
        let text: TerminalText = "\(transaction.transactionID) \(transaction.productID): \(transaction.state)\(end)"
        return transaction.retentionMessage.map { [text, line($0)].joined(separator: "\n") } ?? text
    }

    static func table(_ all: StoreControlWire.Transactions) -> TerminalText {
        table(
            ["transaction", "state", "product", "bought (UTC)", "expires (UTC)"],
            all.transactions.map {
                [
                    $0.transactionID.rawValue, $0.state, $0.productID.rawValue, date($0.purchaseDate),
                    date($0.expiresDate),
                ]
            })
    }

    static func table(_ all: StoreControlWire.Subscriptions) -> TerminalText {
        table(
            ["original", "status", "product", "since (UTC)", "until (UTC)", "then"],
            all.subscriptions.map {
                let renews = $0.commitment?.renews ?? $0.autoRenews
                var next = renews ? "renews to \($0.renewsTo)" : "ends"
                if let bills = $0.commitment {
                    next = "bill \(bills.bill) of \(bills.billCount), \(next) at \(date(bills.endsAt))"
                }
                let isOver = $0.status == .expired || $0.status == .revoked
                return [
                    $0.originalTransactionID.rawValue, $0.status.rawValue, $0.productID.rawValue, date($0.startedAt),
                    date($0.gracePeriodUntil ?? $0.expiresAt), isOver ? "–" : next,
                ]
            })
    }

    static func table(_ all: [StoreControlWire.Account]) -> TerminalText {
        func word(_ flag: Bool?) -> String { flag == true ? "yes" : "no" }
        return table(
            ["account", "storefront", "may pay", "asks to buy", "interrupted", "family"],
            all.map {
                [
                    $0.name, $0.storefront ?? "–", word($0.canMakePayments), word($0.askToBuy),
                    word($0.interruptedPurchases), $0.family ?? "–",
                ]
            })
    }

    static func table(_ all: [StoreWire.Device]) -> TerminalText {
        table(["device", "account", "storefront"], all.map { [$0.deviceID, $0.account, $0.storefront.countryCode] })
    }

    static func table(_ answer: ProductAnswer) -> TerminalText {
        table(
            ["product", "price", "kind", "name"],
            answer.products.map { [$0.id.rawValue, $0.displayPrice, $0.kind.rawValue, $0.displayName] })
    }

    /// Returns the terms of an offer, such as `FREE_TRIAL P1M` or `PAY_AS_YOU_GO 3 × P1M 0.99 USD`.
    static func terms(_ offer: Offer) -> String {
        let count = offer.periodCount == 1 ? "" : "\(offer.periodCount) × "
        let price = offer.price.map { "\($0.amount) \($0.currency)" }
        return [offer.paymentMode.rawValue, count + offer.period.iso8601, price].compactMap(\.self)
            .joined(separator: " ")
    }

    static func table(_ all: StoreControlWire.Notifications) -> TerminalText {
        table(
            ["number", "type", "about", "happened (UTC)", "sent", "result", "again (UTC)", "uuid"],
            all.notifications.map {
                [
                    "\($0.number)", [$0.type, $0.subtype].compactMap(\.self).joined(separator: " "),
                    $0.transactionID?.rawValue ?? "–", date($0.at), "\($0.attempts.count)",
                    $0.attempts.last.map { $0.result ?? "under way" } ?? "–", date($0.due), $0.uuid,
                ]
            })
    }

    /// - Parameter failed: the notifications that were sent, but have not arrived.
    static func line(
        _ deliveries: StoreControlWire.Deliveries, _ failed: [StoreControlWire.Notification]
    ) -> TerminalText {
        guard let last = failed.last?.attempts.last?.result else { return "everything has arrived" }
        let again = failed.count { $0.due != nil }
        let next = deliveries.next.map { ", the next at \(RFC3339.string(from: $0))" } ?? ""
        var parts: [String] = []
        if again > 0 { parts.append("\(again) failed and will be sent again\(next)") }
        if failed.count > again {
            parts.append("\(failed.count - again) failed and will not be sent again unless you resend it")
        }
        return "not everything has arrived (\(last)): \(parts.joined(separator: "; "))"
    }

    static func line(_ family: StoreControlWire.Family) -> TerminalText {
        family.members.isEmpty
            ? "the family \(family.name) has ended" : "\(family.name): \(family.members.joined(separator: ", "))"
    }

    static func clock(_ state: StoreControlWire.ClockState) -> TerminalText {
        let speed =
            state.rate == 0
            ? "is stopped" : state.rate == 1 ? "runs as real time" : "runs \(state.rate) times as fast"
        return "it is \(RFC3339.string(from: state.now)), and time \(speed)"
    }

    static func value(_ setting: StoreControlWire.Setting) -> String {
        let value = setting.value.withoutUserInfo
        return value.stringValue ?? value.text()
    }
}

extension String {
    fileprivate func trimmingTrailingSpaces() -> String {
        var text = self
        while text.last == " " { text.removeLast() }
        return text
    }
}
