import HTTPCore
import Primitives
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
                fault: "A search should have \(CustomerID.rule).")
            return Self.response(page.page, status: 400)
        }
        let found = try ledger.customers(
            query.isEmpty ? nil : CustomerID.canonical(query), in: request.ledgerID, after: cursor ?? "",
            limit: Self.customersPerPage)
        return Self.response(SearchPage(frame: request.frame, query: query, found: found).page)
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
                canRefresh: canRefresh(request.ledgerID)),
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
