import Foundation
import HTTPCore
import Primitives
import SignedData
import StoreModel

/// The endpoint POST `/v1/receipts/validate`: verifies an app receipt and returns its content and the current state of
/// its purchases.
///
/// It makes no claim: the purchases keep their customers.
struct ReceiptRoutes: Sendable {
    let ledger: Ledger
    let idempotent: IdempotentRequests
    let readers: [BundleID: StoreReader]
    /// Gets the status of subscriptions that passed their end.
    let statusPoller: StatusPoller?
    let maximumBody: Int
    let report: @Sendable (_ requestID: String, any Error) -> Void

    var endpoints: [Endpoint<ServerHandler>] {
        [
            Endpoint(
                .post, "/v1/receipts/validate", "validateReceipt", "Validate an app receipt", tag: .facts,
                body: .init(.validateReceipt), answer: .receiptValidation, isIdempotent: true,
                handler: .authorized(.publicKey, validate))
        ]
    }

    @Sendable private func validate(_ context: RequestContext) throws -> HTTPReply {
        context.later {
            let body = try await RequestBody.bytes(of: context.request, upTo: maximumBody)
            let presented = try PresentedReceiptData(body, of: context.caller.app)
            try context.count(receipt: presented.receipt)
            return try await idempotent.respond(to: context, body: body, namesCustomer: false) { idempotency in
                try await validation(of: presented, context, as: idempotency)
            }
        }
    }

    private func validation(
        of presented: PresentedReceiptData, _ context: RequestContext, as request: IdempotentRequest?
    ) async throws -> KeptAnswer {
        guard let reader = readers[context.caller.app] else { throw Refusal.appNotServed }
        let requestID = context.call.id
        let now = ledger.clock.now().wholeMillisecond
        let receipt: PresentedReceipt
        do {
            receipt = try await reader.receipt(presented.receipt, for: presented.device)
        } catch {
            // A verdict is kept for repetitions of the request, so a missing answer must not become one.
            guard !error.isRetryable else { throw Refusal.unavailable(error.reason) }
            let refused = ReceiptValidation(
                isValid: false,
                error: .init(code: error.code.rawValue, detail: error.reason, retryable: error.isRetryable),
                validatedAt: now, requestID: requestID)
            let answer = try KeptAnswer(refused)
            try await ledger.database.write { try request?.keep(answer, $0) }
            return answer
        }
        if let statusPoller { try await update(receipt, of: reader.app, by: statusPoller, as: requestID) }
        return try await ledger.record(receipt, of: reader.app, as: request) { customer, answers in
            let mayKnow = customer.map(context.mayAsk(about:)) ?? false
            let answer = mayKnow ? answers.holder : answers.purchases
            return try KeptAnswer(
                ReceiptValidation(
                    isValid: true, validatedAt: now, requestID: requestID, receipt: receipt.receipt.json,
                    customer: try answer()))
        }
    }
}

extension ReceiptRoutes {
    /// Updates the status of the receipt's subscriptions. If the App Store does not answer, the failure is reported and
    /// the answer uses the latest known state.
    fileprivate func update(
        _ receipt: PresentedReceipt, of app: BundleID, by statusPoller: StatusPoller, as requestID: String
    ) async throws {
        let ledgerID = LedgerID(app: app, environment: receipt.environment)
        try await ledger.append(receipt.facts, in: ledgerID)
        do {
            try await statusPoller.pollLapsed(among: Array(Set(receipt.facts.map(\.original))), in: ledgerID)
        } catch {
            report(requestID, error)
        }
    }
}

/// The body of a validation request. Only its form and its app were checked.
private struct PresentedReceiptData: Sendable {
    let receipt: [UInt8]
    let device: DeviceIdentifier?

    init(_ body: [UInt8], of app: BundleID) throws {
        let members = try RequestBody.object(body)
        let asked = try RequestBody.decode(ValidateReceiptRequest.self, from: members)
        receipt = try PresentedData.receipt(members["receipt"])
        if let bundle = asked.bundleID, bundle != app {
            throw Refusal.invalid("bundleID", "should be \(app), the app of the key")
        }
        do {
            device = try asked.deviceID.map { text throws(SignedDataError) in try DeviceIdentifier(text) }
        } catch {
            throw Refusal.invalid(
                "deviceID", "should be a UUID with hyphens, a MAC address with colons, or base64")
        }
    }
}

extension KeptAnswer {
    /// Encodes a validation. Members are sorted by name, so the customer's time is first, and the request's id and time
    /// are last. The bytes between are equal for the same receipt until something changes.
    fileprivate init(_ validation: ReceiptValidation) throws {
        let body = try WireJSON.encode(validation)
        let last = try WireJSON.encode(Last(requestID: validation.requestID, validatedAt: validation.validatedAt))
        let first = try validation.customer.map { try WireJSON.encode(First(customer: .init(asOf: $0.asOf))) } ?? []
        let (beginning, ending) = (first.dropLast(2), last.dropFirst())
        self.init(
            status: 200, contentType: "application/json", body: body,
            own: (
                body.starts(with: beginning) ? beginning.count : 0,
                body.suffix(ending.count).elementsEqual(ending) ? ending.count : 0
            ))
    }

    private struct First: Encodable {
        struct Customer: Encodable { var asOf: Date }
        var customer: Customer
    }

    private struct Last: Encodable {
        var requestID: String
        var validatedAt: Date
    }
}
