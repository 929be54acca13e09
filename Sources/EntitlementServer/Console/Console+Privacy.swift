import Foundation
import HTTPCore
import Primitives
import StoreModel
import WebPages

/// The export and the erasure of a customer.
extension Console {
    var privacyRoutes: [ConsoleRoute] {
        [
            ConsoleRoute(.post, "/exports/review", "consoleExportReview", .signedIn(.full, reviewExport)),
            ConsoleRoute(.post, "/exports", "consoleExport", .signedIn(.full, export)),
            ConsoleRoute(.post, "/erasures/review", "consoleErasureReview", .signedIn(.full, reviewErasure)),
            ConsoleRoute(.post, "/erasures", "consoleErasure", .signedIn(.full, erase)),
        ]
    }

    // MARK: - Export

    @Sendable private func reviewExport(_ request: ConsoleRequest) async throws -> HTTPResponse {
        let record = try await knownRecord(request)
        let reason = try request.reason()
        let page = ActionReview(
            frame: request.frame, customer: record.customer, path: "/exports", requestID: makeGrantID(),
            title: "Export the customer?", button: "Download the export",
            effect: """
                The browser downloads a JSON file with everything that the ledger has about \
                \(ConsoleFrame.code(record.customer.rawValue)).
                """,
            consequences: [
                "The file contains the signed data of the stores. Keep it as carefully as the ledger.",
                "Nothing changes in the ledger, besides the entry in the audit log.",
            ] + ActionReview.sentence(about: reason), fields: [("reason", reason ?? "")])
        return Self.response(page.page)
    }

    /// Sends the export as a file.
    @Sendable private func export(_ request: ConsoleRequest) async throws -> HTTPResponse {
        let record = try await knownRecord(request)
        let note = try request.note(.export, [:], reason: try request.reason(), at: realClock)
        guard let content = try await ledger.export(request.key(of: record), noting: note) else {
            throw ConsoleRefusal.unknownCustomer
        }
        var response = HTTPResponse(json: content)
        response.headers["Content-Disposition"] = "attachment; filename=\"customer.json\""
        response.headers["Cache-Control"] = "no-store"
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers.add("Cross-Origin-Resource-Policy", "same-origin")
        return response
    }

    /// Returns the customer of a form, even an erased one. Throws 404 for an unknown one.
    private func knownRecord(_ request: ConsoleRequest) async throws -> CustomerRecord {
        guard let record = try await ledger.record(of: try request.customer(), purchase: nil, before: nil) else {
            throw ConsoleRefusal.unknownCustomer
        }
        return record
    }

    // MARK: - Erasure

    @Sendable private func reviewErasure(_ request: ConsoleRequest) async throws -> HTTPResponse {
        let record = try await changeableRecord(request)
        let active = record.answer.features.filter(\.isActive).map { ConsoleFrame.code($0.name) }
        let access: HTML =
            active.isEmpty ? "It has no active feature." : "It loses at once: \(active.joined(separator: ", "))."
        let page = ActionReview(
            frame: request.frame, customer: record.customer, path: "/erasures", requestID: makeGrantID(),
            title: "Erase the customer?", button: "Erase the customer", isRisky: true, needsConfirmation: true,
            effect: """
                All names of \(ConsoleFrame.code(record.customer.rawValue)) are replaced by a random pseudonym, and the \
                signed data of purchases that no other customer has becomes unreadable. \(access)
                """,
            consequences: [
                "Products, amounts and dates remain under the pseudonym.",
                "The audit log keeps the pseudonym, and no reasons.",
                "Event streams and webhooks receive an event with the pseudonym.",
                "The store does not learn it: a subscription continues there until its buyer cancels it.",
                "An erasure cannot be undone.",
            ], fields: [])
        return Self.response(page.page)
    }

    /// Erases a customer whose id the operator typed. A repetition leads to the page of the pseudonym.
    @Sendable private func erase(_ request: ConsoleRequest) async throws -> HTTPResponse {
        let note = try request.note(.erase, [:], at: realClock)
        let done = try ledger.auditEntry(of: try request.reviewID(), in: request.ledgerID)
        if let done, done.action == AuditAction.erase.rawValue, let pseudonym = done.customer {
            return erased(pseudonym, request)
        }
        let record = try await changeableRecord(request)
        guard let typed = request.fields["confirm"], typed.hasSameBytes(as: record.customer.rawValue) else {
            throw ConsoleRefusal.invalid("confirm", "should be the id of the customer. Nothing was erased")
        }
        let pseudonym = CustomerID(unchecked: "erased-\(makeGrantID())")
        guard try await ledger.erase(request.key(of: record), leaving: pseudonym, noting: note) != nil else {
            throw ConsoleRefusal.unknownCustomer
        }
        return erased(pseudonym, request)
    }

    private func erased(_ pseudonym: CustomerID, _ request: ConsoleRequest) -> HTTPResponse {
        Self.redirect(to: request.frame.path(of: pseudonym, [("done", ConsoleOutcome.erased.rawValue)]))
    }
}
