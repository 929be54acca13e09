import Foundation
import HTTPCore
import Primitives
import StoreModel
import WebPages

/// The result of an action, which the page of the customer shows afterwards.
enum ConsoleOutcome: String, Sendable {
    case granted, withdrawn, transferred, merged, redeemed, credited, erased, refreshed

    var sentence: String {
        switch self {
        case .granted: "The feature was granted."
        case .withdrawn: "The grant was withdrawn."
        case .transferred: "The purchase was transferred."
        case .merged: "The name was merged into this customer."
        case .redeemed: "The item was redeemed."
        case .credited: "The credit was given."
        case .erased: "The customer was erased. This is the pseudonym."
        case .refreshed: "The App Store answered, and its facts are in the ledger."
        }
    }
}

extension ConsoleRequest {
    /// Returns the key of a customer of this request's ledger.
    func key(of record: CustomerRecord) -> CustomerKey { CustomerKey(ledgerID: ledgerID, customer: record.customer) }

    /// Returns the path of a customer's page after an action.
    func path(of record: CustomerRecord, after outcome: ConsoleOutcome) -> String {
        frame.path(of: record.customer, [("done", outcome.rawValue)])
    }

    /// Returns a customer's id from a field. Throws 400.
    fileprivate func customer(in field: String) throws(ConsoleRefusal) -> CustomerID {
        guard let customer = fields[field].flatMap({ CustomerID(rawValue: $0) }) else {
            throw .invalid(field, "should have \(CustomerID.rule)")
        }
        return customer
    }

    /// Returns a purchase from the field `purchase`. Throws 400.
    func purchase() throws(ConsoleRefusal) -> TransactionID {
        guard let purchase = fields["purchase"].flatMap({ TransactionID(rawValue: $0) }) else {
            throw .invalid("purchase", "should have \(TransactionID.rule)")
        }
        return purchase
    }

    /// Returns the reason of the form, or `nil` for none. Throws 400.
    func reason() throws(ConsoleRefusal) -> String? {
        guard let text = fields["reason"], !text.isEmpty else { return nil }
        guard text.utf8.count <= 1000, !text.utf8.contains(0) else {
            throw .invalid("reason", "should have at most 1000 bytes")
        }
        return text
    }
}

/// Transfers and merges.
extension Console {
    /// The routes that move purchases and names between customers.
    var moveRoutes: [ConsoleRoute] {
        [
            ConsoleRoute(.post, "/transfers/review", "consoleTransferReview", .signedIn(.full, reviewTransfer)),
            ConsoleRoute(.post, "/transfers", "consoleTransfer", .signedIn(.full, transfer)),
            ConsoleRoute(.post, "/merges/review", "consoleMergeReview", .signedIn(.full, reviewMerge)),
            ConsoleRoute(.post, "/merges", "consoleMerge", .signedIn(.full, merge)),
        ]
    }

    /// Returns the customer of a form. Throws 404 for an unknown customer, and 409 for the pseudonym of an erased one.
    func changeableRecord(_ request: ConsoleRequest) async throws -> CustomerRecord {
        guard let record = try await ledger.record(of: try request.customer(), purchase: nil, before: nil) else {
            throw ConsoleRefusal.unknownCustomer
        }
        guard record.entry.erasedAt == nil else { throw Refusal.customerErased }
        return record
    }

    /// Returns whether the action of a form's review was done before.
    func isDone(_ action: AuditAction, _ request: ConsoleRequest) throws -> Bool {
        let entry = try ledger.auditEntry(of: try request.reviewID(), in: request.ledgerID)
        return entry?.action == action.rawValue
    }

    // MARK: - Transfers

    @Sendable private func reviewTransfer(_ request: ConsoleRequest) async throws -> HTTPResponse {
        let record = try await changeableRecord(request)
        let (purchase, named) = (try request.purchase(), try request.customer(in: "to"))
        let reason = try request.reason()
        guard try ledger.holds(purchase, request.key(of: record)) else { throw ConsoleRefusal.unknownPurchase }
        let receiver = try ledger.knownName(CustomerKey(ledgerID: request.ledgerID, customer: named))
        guard !receiver.isErased else { throw Refusal.customerErased }
        guard receiver.customer != record.customer else {
            throw ConsoleRefusal.invalid("to", "should be another customer")
        }
        let lost = record.answer.features.filter { feature in
            feature.isActive && feature.originalTransactionID == purchase
                && !record.answer.features.contains {
                    $0.isActive && $0.name.hasSameBytes(as: feature.name) && $0.originalTransactionID != purchase
                }
        }
        let (from, to) = (ConsoleFrame.code(record.customer.rawValue), ConsoleFrame.code(receiver.customer.rawValue))
        let names = lost.map { ConsoleFrame.code($0.name) }.joined(separator: ", ")
        let access: HTML =
            lost.isEmpty
            ? "No access of \(from) ends with it."
            : "The customer \(from) loses at once: \(names)."
        let alias: HTML = "\(ConsoleFrame.code(named.rawValue)) is another name of the receiver."
        let unknown: HTML = "The ledger does not know the receiver yet, and registers it. Check the id."
        let page = ActionReview(
            frame: request.frame, customer: record.customer, path: "/transfers", requestID: makeGrantID(),
            title: "Transfer a purchase?", button: "Transfer the purchase", isRisky: true,
            effect: "The purchase \(ConsoleFrame.code(purchase.rawValue)) moves from \(from) to \(to). \(access)",
            consequences: (receiver.customer != named ? [alias] : []) + (receiver.isKnown ? [] : [unknown]) + [
                "Earlier and later claims of other customers do not move it again. You can transfer it back.",
                "Event streams and webhooks receive the events of both customers.",
                "The store is not asked and does not learn it.",
            ] + ActionReview.sentence(about: reason),
            fields: [("purchase", purchase.rawValue), ("to", named.rawValue), ("reason", reason ?? "")])
        return Self.response(page.page)
    }

    @Sendable private func transfer(_ request: ConsoleRequest) async throws -> HTTPResponse {
        let record = try await changeableRecord(request)
        let (purchase, receiver) = (try request.purchase(), try request.customer(in: "to"))
        let reason = try request.reason()
        let note = try request.note(
            .transfer, ["purchase": .string(purchase.rawValue)], reason: reason, at: realClock)
        let once = try request.idempotent(
            .transfer, on: record.customer, [purchase.rawValue, receiver.rawValue, reason ?? ""], at: realClock)
        do {
            _ = try await ledger.transfer(
                purchase, from: request.key(of: record), to: receiver, as: once, noting: note, respond: KeptAnswer.ok)
        } catch Ledger.CustomerRefusal.unknownPurchase {
            throw ConsoleRefusal.unknownPurchase
        }
        return Self.redirect(to: request.path(of: record, after: .transferred))
    }

    // MARK: - Merges

    @Sendable private func reviewMerge(_ request: ConsoleRequest) async throws -> HTTPResponse {
        let record = try await changeableRecord(request)
        let alias = try request.customer(in: "alias")
        let reason = try request.reason()
        let known = try ledger.knownName(CustomerKey(ledgerID: request.ledgerID, customer: alias))
        guard !known.isErased else { throw Refusal.customerErased }
        guard alias != record.customer, known.customer != record.customer else {
            throw ConsoleRefusal(409, "Nothing to merge", "This is a name of the customer already.")
        }
        guard known.customer == alias else { throw ConsoleRefusal.nameTaken }
        let (name, customer) = (ConsoleFrame.code(alias.rawValue), ConsoleFrame.code(record.customer.rawValue))
        let page = ActionReview(
            frame: request.frame, customer: record.customer, path: "/merges", requestID: makeGrantID(),
            title: "Merge a name?", button: "Merge the name", isRisky: true,
            effect: "\(name) becomes another name of \(customer). \(try await possessions(of: alias, request))",
            consequences: [
                "Requests with either name get the answer about \(customer).",
                "Event streams and webhooks receive an event.",
                "A merge cannot be undone. You can transfer single purchases to another customer.",
            ] + ActionReview.sentence(about: reason),
            fields: [("alias", alias.rawValue), ("reason", reason ?? "")])
        return Self.response(page.page)
    }

    /// Returns sentences about what a name brings into a merge.
    private func possessions(of alias: CustomerID, _ request: ConsoleRequest) async throws -> HTML {
        let key = CustomerKey(ledgerID: request.ledgerID, customer: alias)
        guard let record = try await ledger.record(of: key, purchase: nil, before: nil) else {
            return "The ledger does not know the name yet. Check it."
        }
        let names = record.answer.features.filter(\.isActive).map { ConsoleFrame.code($0.name) }
        let features: HTML = names.isEmpty ? "It has no active feature." : "It has \(names.joined(separator: ", "))."
        return "Its purchases, grants, credits and aliases move there. \(features)"
    }

    @Sendable private func merge(_ request: ConsoleRequest) async throws -> HTTPResponse {
        let record = try await changeableRecord(request)
        let (alias, reason) = (try request.customer(in: "alias"), try request.reason())
        let note = try request.note(.merge, [:], reason: reason, at: realClock)
        let once = try request.idempotent(
            .merge, on: record.customer, [alias.rawValue, reason ?? ""], at: realClock)
        do {
            _ = try await ledger.merge(
                alias, into: request.key(of: record), as: once, noting: note, respond: KeptAnswer.ok)
        } catch Ledger.CustomerRefusal.aliasTaken {
            throw ConsoleRefusal.nameTaken
        }
        return Self.redirect(to: request.path(of: record, after: .merged))
    }
}
