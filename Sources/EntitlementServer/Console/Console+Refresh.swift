import HTTPCore
import Primitives
import StoreModel
import WebPages

/// The refresh of a subscription from the App Store or Google Play.
extension Console {
    var refreshRoutes: [ConsoleRoute] {
        [
            ConsoleRoute(.post, "/refreshes/review", "consoleRefreshReview", .signedIn(.full, reviewRefresh)),
            ConsoleRoute(.post, "/refreshes", "consoleRefresh", .signedIn(.full, refresh)),
        ]
    }

    /// Returns whether the server can ask a store about its purchases of a ledger.
    func canRefresh(_ source: PurchaseSource, in ledgerID: LedgerID) -> Bool {
        statusPoller?.canPoll(source, in: ledgerID) ?? false
    }

    /// Returns the poller and the subscription of a form. Throws 400, 404 and 409.
    private func subscription(
        _ request: ConsoleRequest, of record: CustomerRecord
    ) throws -> (StatusPoller, StatusPoller.Subscription) {
        let purchase = try request.purchase()
        let known = record.answer.subscriptions.first { $0.originalTransactionID == purchase }
        guard let statusPoller, canRefresh(known?.source ?? .appStore, in: request.ledgerID) else {
            throw ConsoleRefusal(
                409, "Store not configured",
                "This server has no key of the store's API for this app and environment.")
        }
        guard let known, [.appStore, .googlePlay].contains(known.source) else { throw ConsoleRefusal.unknownPurchase }
        return (statusPoller, StatusPoller.Subscription(ledgerID: request.ledgerID, original: purchase))
    }

    @Sendable private func reviewRefresh(_ request: ConsoleRequest) async throws -> HTTPResponse {
        let record = try await changeableRecord(request)
        let (_, subscription) = try subscription(request, of: record)
        let isPlay = record.answer.subscriptions.contains {
            $0.originalTransactionID == subscription.original && $0.source == .googlePlay
        }
        let store = isPlay ? "Google Play" : "the App Store"
        let page = ActionReview(
            frame: request.frame, customer: record.customer, path: "/refreshes", requestID: makeGrantID(),
            title: "Refresh from \(store)?", button: "Ask \(store)",
            effect: """
                The server asks \(store) for the status of the subscription \
                \(ConsoleFrame.code(subscription.original.rawValue)), and stores the answer.
                """,
            consequences: (isPlay ? [] : ["The answer contains all subscriptions of the same buyer."]) + [
                "Access can change in both directions, as after a notification.",
                "The store is asked at most once in five minutes about a subscription.",
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
            } catch let failure as GooglePlayFailure {
                throw ConsoleRefusal(
                    502, "Google Play did not answer", "\(failure.reason) Nothing was changed. Try again later.")
            }
        }
        return Self.redirect(to: request.path(of: record, after: .refreshed))
    }
}
