import Foundation
import Primitives
import StoreModel
import WebPages

/// The audit log of an app, or of one customer.
struct AuditPage: Sendable {
    let frame: ConsoleFrame
    /// The customer that the page is restricted to; `nil` for the log of the app.
    let customer: CustomerID?
    let list: AuditList

    var page: Page {
        let next = list.next.map { position -> HTML in
            var fields = [("before", String(position))]
            if let customer { fields.append(("id", customer.rawValue)) }
            return "<p><a class=\"button\" href=\"\(frame.path("/audit", fields))\">Older entries</a></p>"
        }
        return frame.page(
            "Audit log",
            """
            <section class="card pane" aria-labelledby="title">
            <h1 id="title">Audit log</h1>
            <p class="hint">\(subject) An entry is written in the same database transaction as its change.</p>
            \(AuditTable(frame: frame, list: list).html)\(next ?? .empty)
            </section>
            """)
    }

    private var subject: HTML {
        guard let customer else { return "The sign-ins and actions of operators, in all environments of the app." }
        return """
            The actions on <a href="\(frame.path(of: customer))">\(ConsoleFrame.code(customer.rawValue))</a>. \
            <a href="\(frame.path("/audit"))">Show all entries</a>
            """
    }
}

/// The entries of the audit log as a table, newest first.
struct AuditTable: Sendable {
    let frame: ConsoleFrame
    let list: AuditList

    var html: HTML {
        guard !list.entries.isEmpty else { return "<p>There are no entries.</p>" }
        return ConsoleFrame.table(
            "Entries of the audit log", ["Time", "Key", "Customer", "Action", "Reason"], list.entries.map(row))
    }

    private func row(_ entry: AuditEntry) -> HTML {
        """
        <tr><td>\(ConsoleFrame.time(entry.at))</td><td>\(key(of: entry))</td><td>\(subject(of: entry))</td>\
        <td>\(Self.sentence(about: entry))</td><td>\(entry.reason.map { "<bdi>\($0)</bdi>" as HTML } ?? "–")</td></tr>

        """
    }

    /// Returns the label and id of the key, and the rights of the session.
    private func key(of entry: AuditEntry) -> HTML {
        let label = list.keys.first { $0.id == entry.keyID }?.label
        let name: HTML = label.map { "<bdi>\($0)</bdi> " } ?? .empty
        let role = entry.role == ConsoleSession.Role.readOnly.rawValue ? "read only" : "full access"
        return "\(name)\(ConsoleFrame.code(entry.keyID)), \(role)"
    }

    private func subject(of entry: AuditEntry) -> HTML {
        guard let customer = entry.customer, let environment = entry.environment else { return "–" }
        let name = ConsoleFrame.code(customer.rawValue)
        guard environment == frame.environment else { return "\(name) (\(environment.rawValue))" }
        return "<a href=\"\(frame.path(of: customer))\">\(name)</a>"
    }

    /// Returns the action of an entry as a part of a sentence.
    static func sentence(about entry: AuditEntry) -> HTML {
        func detail(_ name: String) -> HTML { ConsoleFrame.code(entry.detail[name]?.stringValue ?? "") }
        let other = ConsoleFrame.code(entry.other?.rawValue ?? "")
        switch AuditAction(rawValue: entry.action) {
        case .signIn: return "signed in"
        case .grant:
            let until = entry.detail["until"]?.stringValue.flatMap { RFC3339.date(from: $0) }
            return "granted \(detail("feature")), \(until.map { "until \(ConsoleFrame.time($0))" } ?? "without an end")"
        case .withdraw: return "withdrew the grant \(detail("grant")) of \(detail("feature"))"
        case .transfer: return "transferred the purchase \(detail("purchase")) to \(other)"
        case .merge: return "merged the name \(other)"
        case .redeem:
            let item: HTML = entry.item.map { " \(ConsoleFrame.code($0))" } ?? .empty
            return """
                took \(entry.detail["cost"]?.intValue ?? 0) of the credit \(detail("credit")) for an item\(item) of the \
                type \(detail("type"))
                """
        case .giveCredit: return "gave \(entry.detail["amount"]?.intValue ?? 0) of the credit \(detail("credit"))"
        case .export: return "exported the customer"
        case .erase:
            let number = entry.detail["purchases"]?.intValue ?? 0
            return "erased the customer, with \(number) \(number == 1 ? "purchase" : "purchases")"
        case .refund:
            let end: HTML = entry.detail["revoke"]?.boolValue == true ? ", and ended the purchase" : .empty
            return "refunded the order \(detail("transactionID")) at Google Play\(end)"
        case .refresh: return "asked the store about the purchase \(detail("purchase"))"
        case .replay:
            let webhook: HTML = entry.detail["webhook"]?.stringValue.map { " to \(ConsoleFrame.code($0))" } ?? .empty
            let number = entry.detail["deliveries"]?.intValue ?? 0
            return "repeated \(number) webhook \(number == 1 ? "delivery" : "deliveries")\(webhook)"
        case nil: return .text(entry.action)
        }
    }
}
