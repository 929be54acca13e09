import Foundation
import Primitives
import StoreModel
import WebPages

/// A page of a customer's facts as a table, with a link to each fact.
struct FactTable: Sendable {
    let frame: ConsoleFrame
    let customer: CustomerID
    let list: FactList

    var html: HTML {
        let restriction = list.purchase.map { purchase -> HTML in
            """
            <p>Only facts of the purchase \(ConsoleFrame.code(purchase.rawValue)). \
            <a href="\(frame.path(of: customer))#facts">Show all facts</a></p>
            """
        }
        guard !list.facts.isEmpty else { return (restriction ?? .empty) + "<p>There are no facts.</p>" }
        let table = ConsoleFrame.table(
            "Facts of the customer", ["Received", "Signed", "Fact", "Content", "Purchase", "Source"],
            list.facts.map(row))
        return (restriction ?? .empty) + table + (next ?? .empty)
    }

    private func row(_ fact: FactEntry) -> HTML {
        let target = frame.path("/fact", [("id", customer.rawValue), ("sequence", String(fact.sequence))])
        let purchase = frame.path(of: customer, [("purchase", fact.original.rawValue)]) + "#facts"
        return """
            <tr><td>\(ConsoleFrame.time(fact.receivedAt))</td><td>\(ConsoleFrame.time(fact.signedAt))</td>\
            <td><a href="\(target)">\(fact.kind) \(ConsoleFrame.code(fact.transactionID ?? String(fact.sequence)))</a></td>\
            <td>\(Self.content(of: fact))</td>\
            <td><a href="\(purchase)">\(ConsoleFrame.code(fact.original.rawValue))</a></td>\
            <td><bdi>\(fact.source)</bdi></td></tr>

            """
    }

    private var next: HTML? {
        list.next.map { position -> HTML in
            var fields = [("before", String(position))]
            if let purchase = list.purchase { fields.append(("purchase", purchase.rawValue)) }
            return "<p><a class=\"button\" href=\"\(frame.path(of: customer, fields))#facts\">Older facts</a></p>"
        }
    }

    /// Returns the product, amount and dates of a fact.
    static func content(of fact: FactEntry) -> HTML {
        let summary = fact.summary
        var parts: [HTML] = []
        if let product = summary["productId"]?.stringValue { parts.append(ConsoleFrame.code(product)) }
        if let amount = summary["price"]?.stringValue, let currency = summary["currency"]?.stringValue {
            parts.append("<bdi>\(amount) \(currency)</bdi>")
        }
        if let date = date("expiresDate", in: summary) { parts.append("ends \(ConsoleFrame.time(date))") }
        if let date = date("revocationDate", in: summary) { parts.append("revoked \(ConsoleFrame.time(date))") }
        if let renews = summary["autoRenewStatus"]?.boolValue { parts.append(renews ? "renews" : "does not renew") }
        if let product = summary["autoRenewProductId"]?.stringValue {
            parts.append("next period: \(ConsoleFrame.code(product))")
        }
        if let date = date("gracePeriodExpiresDate", in: summary) {
            parts.append("grace period ends \(ConsoleFrame.time(date))")
        }
        if summary["isInBillingRetryPeriod"]?.boolValue == true { parts.append("in billing retry") }
        if summary["isPaused"]?.boolValue == true { parts.append("paused") }
        return parts.isEmpty ? "–" : parts.joined(separator: ", ")
    }

    private static func date(_ name: String, in summary: JSONValue) -> Date? {
        summary[name]?.intValue.map { Date(milliseconds: Int64($0)) }
    }
}
