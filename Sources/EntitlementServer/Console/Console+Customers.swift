import HTTPCore
import Primitives
import SignedData
import StoreModel

extension Console {
    /// The routes that read customers.
    var customerRoutes: [ConsoleRoute] {
        [
            ConsoleRoute(.get, "", "consoleSearch", .signedIn(.readOnly, search)),
            ConsoleRoute(.get, "/customer", "consoleCustomer", .signedIn(.readOnly, customer)),
            ConsoleRoute(.get, "/fact", "consoleFact", .signedIn(.readOnly, fact)),
        ]
    }

    private static let customersPerPage = 50

    @Sendable private func search(_ request: ConsoleRequest) async throws -> HTTPResponse {
        let query = request.fields["query"] ?? ""
        let cursor = request.fields["cursor"]
        if let cursor, CustomerID(rawValue: cursor) == nil {
            throw ConsoleRefusal.invalid("cursor", "should be that of the previous page")
        }
        guard query.isEmpty || CustomerID(rawValue: query) != nil else {
            let page = SearchPage(
                frame: request.frame, query: query, found: CustomerList(customers: []),
                looksUpOrders: canRefresh(.appStore, in: request.ledgerID),
                fault: "A search should have \(CustomerID.rule).")
            return Self.response(page.page, status: 400)
        }
        let found = try ledger.customers(
            query.isEmpty ? nil : CustomerID.canonical(query), in: request.ledgerID, after: cursor ?? "",
            limit: Self.customersPerPage)
        let looksUpOrders = canRefresh(.appStore, in: request.ledgerID)
        // An order id identifies one payment, so it is sent to the App Store only if the ledger knows no such name.
        if looksUpOrders, found.customers.isEmpty, query.wholeMatch(of: Self.orderID) != nil {
            let purchase = try await purchase(ofOrder: query, request)
            return Self.redirect(to: request.frame.path("", [("query", purchase.rawValue)]))
        }
        let page = SearchPage(frame: request.frame, query: query, found: found, looksUpOrders: looksUpOrders)
        return Self.response(page.page)
    }

    /// An order id as in the App Store's mails.
    private static var orderID: Regex<Substring> { /M[0-9A-Z]{7,19}/ }

    /// Asks the App Store for an order, and returns its purchase that a customer has. Throws 404 and 502.
    private func purchase(ofOrder order: String, _ request: ConsoleRequest) async throws -> TransactionID {
        let purchases: [TransactionID]
        do { purchases = try await statusPoller?.purchases(ofOrder: order, in: request.ledgerID) ?? [] } catch {
            guard error is AppStoreServerAPIError || error is SignedDataError else { throw error }
            throw ConsoleRefusal(
                502, "The App Store did not answer", "The order \(order) could not be looked up. Try again later.")
        }
        guard !purchases.isEmpty else {
            throw ConsoleRefusal(
                404, "Unknown order", "The App Store knows no order \(order) of this app and environment.")
        }
        for purchase in purchases {
            let found = try ledger.customers(purchase.rawValue, in: request.ledgerID, after: "", limit: 1)
            if !found.customers.isEmpty { return purchase }
        }
        throw ConsoleRefusal(
            404, "No customer has this order",
            "The order \(order) has the purchase \(purchases[0].rawValue), which no customer of this server has.")
    }

    @Sendable private func customer(_ request: ConsoleRequest) async throws -> HTTPResponse {
        let purchase = try request.fields["purchase"].map { text throws(ConsoleRefusal) -> TransactionID in
            guard let purchase = TransactionID(rawValue: text) else {
                throw .invalid("purchase", "should have \(TransactionID.rule)")
            }
            return purchase
        }
        let record = try await ledger.record(
            of: try request.customer(), purchase: purchase, before: try request.position("before"))
        guard let record else { throw ConsoleRefusal.unknownCustomer }
        let names = ledger.rules[request.session.caller.app].rules.reducer.features.features.keys.sorted {
            $0.utf8.lexicographicallyPrecedes($1.utf8)
        }
        let page = CustomerPage(
            frame: request.frame, record: record, features: names,
            actions: CustomerActions(
                frame: request.frame, record: record, credits: ledger.rules[request.session.caller.app].rules.credits,
                refreshable: record.answer.subscriptions.filter { canRefresh($0.source, in: request.ledgerID) }),
            outcome: request.fields["done"].flatMap { ConsoleOutcome(rawValue: $0) })
        return Self.response(page.page)
    }

    @Sendable private func fact(_ request: ConsoleRequest) async throws -> HTTPResponse {
        guard let position = try request.position("sequence"),
            let record = try await ledger.factRecord(of: try request.customer(), at: position)
        else { throw ConsoleRefusal.unknownFact }
        return Self.response(FactPage(frame: request.frame, record: record).page)
    }
}
