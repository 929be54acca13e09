import AppStorePayloads
import Foundation
import HTTPCore
import Primitives
import StoreModel

/// The endpoints of refund requests: what the app reports about a customer, and the answers of operators.
///
/// A device may state only the consent of its own customer, with the customer's token. Usage influences refunds, so it
/// comes from the app's own server, with the secret key.
struct RefundRoutes: Sendable {
    private static let maximumBody = 64 << 10

    let ledger: Ledger
    let idempotent: IdempotentRequests
    let desk: RefundDesk

    var endpoints: [Endpoint<ServerHandler>] {
        [
            Endpoint(
                .post, "/v1/customers/{customer}/refund-consent", "postRefundConsent",
                "State whether the customer consents to sending consumption information to Apple", tag: .refunds,
                body: .init(.refundConsentRequest), answer: .refundConsent, refusals: [409: ["customer_erased"]],
                isIdempotent: true, links: .toCustomer, handler: .authorized(.customer, consent)),
            Endpoint(
                .post, "/v1/customers/{customer}/usage-reports", "postUsageReport",
                "Report how much of a transaction the customer has used", tag: .refunds, body: .init(.usageReport),
                answer: .usageReport, refusals: [404: ["unknown_purchase"], 409: ["customer_erased"]],
                isIdempotent: true, handler: .authorized(.secretKey, report)),
            Endpoint(
                .get, "/v1/refund-requests", "getRefundRequests", "List refund requests, newest first",
                tag: .refunds,
                parameters: [
                    .init(
                        "state", in: .query, .choice(RefundRequest.State.self),
                        "the state of the requests; all if absent")
                ] + .page, answer: .refundRequests, handler: .authorized(.secretKey, list)),
            Endpoint(
                .post, "/v1/refund-requests/{id}/answer", "postRefundAnswer",
                "Replace the answer to a refund request before it is sent", tag: .refunds,
                body: .init(.refundAnswerRequest), answer: .refundRequest,
                refusals: [
                    404: ["unknown_refund_request"],
                    409: [
                        "refund_request_closed", "refund_answer_in_progress", "consent_refused", "consent_unknown",
                        "refund_answer_unsupported", "app_store_not_configured", "google_play_not_configured",
                    ],
                ], isIdempotent: true, handler: .authorized(.secretKey, answer)),
        ]
    }

    // MARK: - Reports

    @Sendable private func consent(_ context: RequestContext) throws -> HTTPReply {
        let key = try context.customer()
        return context.later {
            let body = try await RequestBody.bytes(of: context.request, upTo: Self.maximumBody)
            return try await idempotent.respond(to: context, body: body) { request in
                guard let isGiven = try RequestBody.object(body)["consented"]?.boolValue else {
                    throw Refusal.invalid("consented", "should be true or false")
                }
                return try await ledger.write(once: request) { connection, outcome in
                    var transaction = ledger.transaction(connection, on: key.ledgerID)
                    let customer = try transaction.register(key.customer)
                    try transaction.setConsent(isGiven, of: customer)
                    let answer: JSONValue = [
                        "customer": .string(customer.rawValue), "consented": .bool(isGiven),
                        "statedAt": .string(RFC3339.string(from: transaction.now)),
                    ]
                    try ledger.computeAnswers(transaction, including: nil, &outcome)
                    return KeptAnswer(json: answer)
                }
            }
        }
    }

    @Sendable private func report(_ context: RequestContext) throws -> HTTPReply {
        let key = try context.customer()
        return context.later {
            let body = try await RequestBody.bytes(of: context.request, upTo: Self.maximumBody)
            return try await idempotent.respond(to: context, body: body) { request in
                let members = try RequestBody.object(body)
                let text = members["transactionID"]?.stringValue
                guard let id = text.flatMap({ TransactionID(rawValue: $0) }) else {
                    throw Refusal.invalid("transactionID", "should be a string with \(TransactionID.rule)")
                }
                let usage = try UsageReport(members)
                return try await ledger.write(once: request) { connection, outcome in
                    var transaction = ledger.transaction(connection, on: key.ledgerID)
                    let customer = try transaction.lockedCustomer(named: key.customer)
                    guard try !transaction.isErased(customer) else { throw Ledger.CustomerRefusal.erased }
                    guard try transaction.keep(usage, of: id, by: customer) else { throw Refusal.unknownTransaction }
                    return KeptAnswer(json: usage.json(of: id))
                }
            }
        }
    }

    // MARK: - Operators

    @Sendable private func list(_ context: RequestContext) throws -> HTTPReply {
        let page = try context.page()
        let states = try page.query["state"].map { text in
            guard let state = RefundRequest.State(rawValue: text) else {
                let names = RefundRequest.State.allCases.map(\.rawValue).joined(separator: ", ")
                throw Refusal.invalid("state", "should be one of \(names)")
            }
            return [state]
        }
        let cursor = page.cursor.map { Int64(digits: $0) ?? 0 } ?? .max
        guard cursor > 0 else { throw Refusal.unknownCursor }
        let answer = try ledger.database.read { connection in
            let transaction = ledger.transaction(connection, on: context.ledgerID)
            let requests = try transaction.refundRequests(
                states ?? RefundRequest.State.allCases, before: cursor, limit: page.limit + 1)
            let shown = requests.prefix(page.limit)
            var answer: JSONValue = [
                "refundRequests": .array(try shown.map { $0.json(of: try transaction.holders(of: $0.original)) })
            ]
            if requests.count > page.limit, let last = shown.last { answer["nextCursor"] = .string(String(last.id)) }
            return answer
        }
        return .ready(HTTPResponse(json: answer))
    }

    @Sendable private func answer(_ context: RequestContext) throws -> HTTPReply {
        guard let id = Int64(digits: context.path["id"]) else { throw Refusal.unknownRefundRequest }
        return context.later {
            let body = try await RequestBody.bytes(of: context.request, upTo: Self.maximumBody)
            return try await idempotent.respond(to: context, body: body, namesCustomer: false) { request in
                let manual = try RefundDesk.ManualAnswer(RequestBody.object(body))
                do {
                    return try await ledger.write(once: request) { connection, outcome in
                        let transaction = ledger.transaction(connection, on: context.ledgerID)
                        let answered = try desk.answer(id, manual, transaction)
                        outcome.concernsRefundRequests = true
                        let holders = try transaction.holders(of: answered.original)
                        // The answer names the customer, so it is erased with the customer.
                        outcome.subject = holders.count == 1 ? holders.first : nil
                        return KeptAnswer(json: answered.json(of: outcome.subject.map { [$0] } ?? []))
                    }
                } catch let refusal as RefundDesk.AnswerRefusal {
                    throw Refusal(refusal)
                }
            }
        }
    }
}

extension RefundDesk.ManualAnswer {
    /// Reads the body of an operator's request. Throws 400.
    fileprivate init(_ members: JSONMembers) throws {
        guard let note = members["reason"]?.stringValue, (1...1000).contains(note.utf8.count), !note.utf8.contains(0)
        else { throw Refusal.invalid("reason", "should be the reason for the answer, in 1 to 1000 bytes") }
        let consented = members["customerConsented"] ?? false
        guard let customerConsented = consented.boolValue else {
            throw Refusal.invalid("customerConsented", "should be true or false")
        }
        var answer: ConsumptionAnswer?
        switch members["answer"] {
        case "none"?: break
        case .object(let given)?: answer = try ConsumptionAnswer(given)
        default: throw Refusal.invalid("answer", "should be an object, or \"none\" to send nothing")
        }
        self.init(answer: answer, customerConsented: customerConsented, note: note)
    }
}

extension ConsumptionAnswer {
    fileprivate init(_ members: JSONMembers) throws {
        self.init(
            preference: try members.choice("preference", Self.preferenceNames, "answer/").map { .init(rawValue: $0) },
            deliveryStatus: try members.choice("deliveryStatus", Self.deliveryNames, "answer/").map {
                .init(rawValue: $0)
            }, sampleContentProvided: try members.flag("sampleContentProvided", "answer/"),
            percentage: try members.percentage("percentage", "answer/"))
    }
}

extension UsageReport {
    private static let largest = 1_000_000_000

    /// Reads the body of a report. Throws 400.
    fileprivate init(_ members: JSONMembers) throws {
        self.init(
            percentage: try members.percentage("percentage"),
            used: try members.count("used", upTo: Self.largest),
            deliveryStatus: try members.choice("deliveryStatus", ConsumptionAnswer.deliveryNames).map {
                .init(rawValue: $0)
            }, sampleContentProvided: try members.flag("sampleContentProvided"),
            playTime: try members.count("playTime", upTo: Self.largest))
        guard percentage == nil || used == nil else {
            throw Refusal.invalid("used", "cannot be combined with percentage: send one of the two")
        }
    }

    fileprivate func json(of transaction: TransactionID) -> JSONValue {
        var members: JSONValue = ["transactionID": .string(transaction.rawValue)]
        members["percentage"] = percentage.map { .number(Double($0) / 1000) }
        members["used"] = used.map { .number($0) }
        members["deliveryStatus"] = deliveryStatus.map { .string($0.rawValue) }
        members["sampleContentProvided"] = sampleContentProvided.map { .bool($0) }
        members["playTime"] = playTime.map { .number($0) }
        return members
    }
}

/// Optional members of a body. `place` is the place of the object, for refusals.
extension JSONMembers {
    fileprivate func flag(_ name: String, _ place: String = "") throws -> Bool? {
        guard let value = self[name] else { return nil }
        guard let flag = value.boolValue else { throw Refusal.invalid(place + name, "should be true or false") }
        return flag
    }

    fileprivate func choice(_ name: String, _ names: [String], _ place: String = "") throws -> String? {
        guard let value = self[name] else { return nil }
        guard let text = value.stringValue, names.contains(where: { $0.hasSameBytes(as: text) }) else {
            throw Refusal.invalid(place + name, "should be one of \(names.joined(separator: ", "))")
        }
        return text
    }

    fileprivate func percentage(_ name: String, _ place: String = "") throws -> Int? {
        guard let value = self[name] else { return nil }
        guard case .number(let number) = value, let thousandths = Percentage.thousandths(number) else {
            throw Refusal.invalid(place + name, "should be \(Percentage.rule)")
        }
        return thousandths
    }

    fileprivate func count(_ name: String, upTo largest: Int) throws -> Int? {
        guard let value = self[name] else { return nil }
        guard let number = value.intValue, (0...largest).contains(number) else {
            throw Refusal.invalid(name, "should be a whole number from 0 to \(largest)")
        }
        return number
    }
}

extension KeptAnswer {
    fileprivate init(json: JSONValue) {
        self.init(status: 200, contentType: "application/json", body: json.encoded())
    }
}

extension Refusal {
    fileprivate init(_ refusal: RefundDesk.AnswerRefusal) {
        self =
            switch refusal {
            case .unknown: .unknownRefundRequest
            case .closed:
                .conflict(
                    "refund_request_closed", "Refund request closed",
                    "The answer was sent, its time has ended, or the store has decided.")
            case .inProgress: .answerInProgress
            case .consentRefused:
                .conflict(
                    "consent_refused", "Consent refused",
                    "The customer refused that consumption information is sent to Apple, or was erased.")
            case .consentUnknown:
                .conflict(
                    "consent_unknown", "Consent unknown",
                    "Apple accepts consumption information only with the customer's consent. Report the consent, or send customerConsented if you have it.",
                    field: "customerConsented")
            case .unsupported:
                .conflict(
                    "refund_answer_unsupported", "Answer not supported",
                    "Apple accepts no consumption information about this purchase: it is shared in a family, or its type is not supported by the version of the request."
                )
            case .notAcceptable:
                .invalid(
                    "answer/preference",
                    "should not be GRANT_PRORATED unless a part between 0 and 100 percent was used and delivered; version 1 of the request and Google Play have no prorated refund"
                )
            case .noClient:
                .conflict(
                    "app_store_not_configured", "App Store not configured",
                    "This server has no key of the App Store Server API for the app and environment.")
            case .noGooglePlay:
                .conflict(
                    "google_play_not_configured", "Google Play not configured",
                    "This server has no Google Play for the app; start it with --play-package.")
            }
    }

    private static func conflict(
        _ code: String, _ title: String, _ detail: String, field: String? = nil
    ) -> Refusal {
        Refusal(HTTPProblem(status: 409, code: code, title: title, detail: detail, field: field))
    }

    private static let answerInProgress = Refusal(
        HTTPProblem(
            status: 409, code: "refund_answer_in_progress", title: "Answer in progress",
            detail: "The server is sending an answer; try again when this attempt has ended.", isRetryable: true),
        headers: ["Retry-After": "30"])

    fileprivate static let unknownRefundRequest = Refusal(
        HTTPProblem(
            status: 404, code: "unknown_refund_request", title: "Unknown refund request",
            detail: "No refund request of this app and environment has this id.", field: "id"))

    fileprivate static let unknownTransaction = Refusal(
        HTTPProblem(
            status: 404, code: "unknown_purchase", title: "Unknown purchase",
            detail: "The customer has no purchase with this transaction.", field: "transactionID"))
}
