import Foundation
import HTTPCore

/// The refusal of a request to the console, with the texts of its page.
struct ConsoleRefusal: Error, Equatable {
    let status: Int
    let title: String
    /// A sentence that says what failed and what to do.
    let detail: String
    /// The number of seconds after which a repetition can succeed.
    var retryAfter: Int?

    init(_ status: Int, _ title: String, _ detail: String, retryAfter: Int? = nil) {
        self.status = status
        self.title = title
        self.detail = detail
        self.retryAfter = retryAfter
    }

    static let foreignHost = ConsoleRefusal(
        403, "Foreign host", "The console of this server is open for localhost, 127.0.0.1 and ::1. Use one of these.")
    static func foreignProxyHost(_ authority: String) -> ConsoleRefusal {
        ConsoleRefusal(
            403, "Foreign host",
            "The console of this server is open at https://\(authority). The proxy should pass on this Host.")
    }

    static func plainProxy(_ authority: String) -> ConsoleRefusal {
        ConsoleRefusal(403, "TLS required", "The console is open with TLS only. Use https://\(authority).")
    }

    static let foreignSite = ConsoleRefusal(
        403, "Foreign site", "Another site sent this form. Open the console and send its own form.")
    static let unknownKey = ConsoleRefusal(
        403, "Key not accepted",
        "The key is unknown, revoked, or not a secret key of an app of this server. No session was opened.")
    static let signedOut = ConsoleRefusal(403, "Sign in", "The session has ended, or there was none. Sign in.")
    static let formExpired = ConsoleRefusal(
        403, "Form expired", "The form belongs to another session. Nothing was changed. Load the page again.")
    static let readOnly = ConsoleRefusal(
        403, "Read-only session", "This session may only read. Nothing was changed. Sign in with full access.")
    static let unknownCustomer = ConsoleRefusal(
        404, "Unknown customer", "The ledger of this app and environment has no customer with this id.")
    static let unknownFact = ConsoleRefusal(404, "Unknown fact", "The customer's purchases have no such fact.")
    static let unknownGrant = ConsoleRefusal(
        404, "Unknown grant", "The customer has no grant with this id, or it was withdrawn before.")

    static let unknownPurchase = ConsoleRefusal(
        404, "Unknown purchase",
        "The customer has no such purchase. Nothing was changed. Load the page of the customer.")
    static let unknownCredit = ConsoleRefusal(
        404, "Unknown credit", "The app has no credit of this type. Its feature file names them.")
    static let nameTaken = ConsoleRefusal(
        409, "Name taken", "The name belongs to another customer. A name belongs to one customer only.")
    static let askedBefore = ConsoleRefusal(
        409, "Asked before",
        "A server asked the store about this subscription in the last five minutes. Nothing was changed.")

    static let unknownDelivery = ConsoleRefusal(
        404, "Unknown delivery", "There is no such delivery in this app and environment. Old ones are not kept.")
    static let deliveryPending = ConsoleRefusal(
        409, "Delivery pending", "The delivery is still pending. The server attempts it by itself.")

    static func insufficientCredit(balance: Int, cost: Int) -> ConsoleRefusal {
        ConsoleRefusal(
            409, "Not enough credit", "The item costs \(cost), and \(balance) is left. Nothing was redeemed.")
    }

    static func invalid(_ field: String, _ reason: String) -> ConsoleRefusal {
        ConsoleRefusal(400, "Invalid field", "\(field) \(reason).")
    }

    /// Converts an error. The second value is true for an unexpected error, which is reported.
    static func failure(_ error: any Error) -> (refusal: ConsoleRefusal, isReported: Bool) {
        if let refusal = error as? ConsoleRefusal { return (refusal, false) }
        let failure = Refusal.failure(error)
        let problem = failure.problem
        let refusal = ConsoleRefusal(
            problem.status, problem.title, problem.detail,
            retryAfter: failure.headers["Retry-After"].flatMap { Int($0) })
        return (refusal, problem.status >= 500 && !(error is Refusal))
    }
}
