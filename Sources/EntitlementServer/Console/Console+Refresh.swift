import HTTPCore
import Primitives
import StoreModel
import WebPages

/// The refresh of a subscription from the App Store.
extension Console {
    var refreshRoutes: [ConsoleRoute] {
        [
            ConsoleRoute(.post, "/refreshes/review", "consoleRefreshReview", .signedIn(.full, reviewRefresh)),
            ConsoleRoute(.post, "/refreshes", "consoleRefresh", .signedIn(.full, refresh)),
        ]
    }

    /// Returns whether the server can ask the App Store about the purchases of a ledger.
    func canRefresh(_ ledgerID: LedgerID) -> Bool { statusPoller?.canPoll(ledgerID) ?? false }

    /// Returns the poller and the subscription of a form. Throws 400, 404 and 409.
    private func subscription(
        _ request: ConsoleRequest, of record: CustomerRecord
    ) throws -> (StatusPoller, StatusPoller.Subscription) {
        let purchase = try request.purchase()
        guard let statusPoller, canRefresh(request.ledgerID) else {
            throw ConsoleRefusal(
                409, "App Store not configured",
                "This server has no key of the App Store Server API for this app and environment.")
        }
        guard
            record.answer.subscriptions.contains(where: {
                $0.source == .appStore && $0.originalTransactionID == purchase
            })
        else { throw ConsoleRefusal.unknownPurchase }
        return (statusPoller, StatusPoller.Subscription(ledgerID: request.ledgerID, original: purchase))
    }

    @Sendable private func reviewRefresh(_ request: ConsoleRequest) async throws -> HTTPResponse {
        let record = try await changeableRecord(request)
        let (_, subscription) = try subscription(request, of: record)
        let page = ActionReview(
            frame: request.frame, customer: record.customer, path: "/refreshes", requestID: makeGrantID(),
            title: "Refresh from the App Store?", button: "Ask the App Store",
            effect: """
                The server asks the App Store for the status of the subscription \
                \(ConsoleFrame.code(subscription.original.rawValue)), and stores the signed answer.
                """,
            consequences: [
                "The answer contains all subscriptions of the same buyer.",
                "Access can change in both directions, as after a notification.",
                "The App Store is asked at most once in five minutes about a subscription.",
            ], fields: [("purchase", subscription.original.rawValue)])
        return Self.response(page.page)
    }

    @Sendable private func refresh(_ request: ConsoleRequest) async throws -> HTTPResponse {
        let record = try await changeableRecord(request)
        let (poller, subscription) = try subscription(request, of: record)
        let note = try request.note(
            .refresh, ["purchase": .string(subscription.original.rawValue)], at: realClock)
        if try !isDone(.refresh, request) {
            do {
                guard try await poller.poll(subscription, noting: note, about: record.customer) else {
                    throw ConsoleRefusal.askedBefore
                }
            } catch let error as AppStoreServerAPIError {
                throw ConsoleRefusal(
                    502, "The App Store did not answer", "\(error.description) Nothing was changed. Try again later.")
            }
        }
        return Self.redirect(to: request.path(of: record, after: .refreshed))
    }
}
