import Foundation
import GooglePlay
import HTTPCore
import Primitives
import SignedData
import StoreModel

/// The endpoint POST `/v1/customers/{customer}/play-purchases`: fetches a purchase from Google Play, stores it, and
/// returns the customer's answer.
struct PlayPurchasesRoute: Sendable {
    private static let maximumBody = 256 << 10

    let ledger: Ledger
    let idempotent: IdempotentRequests
    let readers: [BundleID: PlayReader]
    let metrics: ServerMetrics
    let report: @Sendable (_ context: String, _ error: any Error) -> Void

    var endpoints: [Endpoint<ServerHandler>] {
        [
            Endpoint(
                .post, "/v1/customers/{customer}/play-purchases", "postPlayPurchase",
                "Present a purchase of Google Play", tag: .facts, body: .init(.postPlayPurchase),
                answer: .postedPlayPurchase,
                refusals: [
                    409: ["customer_erased", PlayReader.Rejection.pending],
                    422: Refusal.signedDataCodes + PlayReader.Rejection.codes, 501: ["unsupported"],
                ], isIdempotent: true, links: .toCustomer, handler: .authorized(.publicKey, respond))
        ]
    }

    @Sendable private func respond(to context: RequestContext) throws -> HTTPReply {
        let customer = try context.customer()
        return context.later {
            let body = try await RequestBody.bytes(of: context.request, upTo: Self.maximumBody)
            let request = try PlayPurchaseRequest(body)
            var response = try await idempotent.respond(to: context, body: body) { idempotency in
                try await record(request, for: customer, as: idempotency)
            }
            try await request.name(in: &response)
            return response
        }
    }

    private func record(
        _ request: PlayPurchaseRequest, for customer: CustomerKey, as idempotency: IdempotentRequest?
    ) async throws -> KeptAnswer {
        guard let reader = readers[customer.ledgerID.app] else { throw Refusal.noGooglePlay }
        let presented: PlayReader.Presented
        do {
            guard request.packageName == reader.source.packageName else {
                throw PlayReader.Rejection(
                    SignedDataError.Code.wrongBundle.rawValue, "The package name is not that of this app.")
            }
            if let (data, signature) = request.signed {
                try reader.check(
                    signedData: data, signature: signature, token: request.purchaseToken, product: request.productID)
            }
            presented = try await reader.fetch(request.purchaseToken, of: request.productID)
        } catch let rejection as PlayReader.Rejection {
            metrics.rejected.add(rejection.code)
            throw rejection.refusal
        } catch let failure as GooglePlayFailure {
            report("Google Play", failure)
            throw Refusal.unavailable(failure)
        }
        return try await ledger.record(
            presented, of: customer.ledgerID.app, by: customer.customer, answering: customer.ledgerID.environment,
            as: idempotency
        ) { rejected, answer in
            if let rejected { throw Refusal.rejected(rejected, field: "purchaseToken") }
            return KeptAnswer(
                status: 200, contentType: "application/json",
                body: PlayPurchaseRequest.body(answer?.bytes ?? [], acknowledging: presented.fetch.original),
                revision: answer?.revision)
        }
    }
}

/// The body of a request, checked for its form only.
struct PlayPurchaseRequest: Sendable {
    let packageName: PackageName
    let productID: ProductID
    let purchaseToken: PurchaseToken
    /// The data that Google Play signed for the app, and its signature.
    let signed: (data: String, signature: String)?

    init(_ body: [UInt8]) throws {
        let members = try RequestBody.object(body)
        packageName = try Self.identifier(members["packageName"], "packageName")
        productID = try Self.identifier(members["productId"], "productId")
        purchaseToken = try Self.identifier(members["purchaseToken"], "purchaseToken")
        let data = try Self.text(members["signedData"], "signedData")
        let signature = try Self.text(members["signature"], "signature")
        switch (data, signature) {
        case (let data?, let signature?): signed = (data, signature)
        case (nil, nil): signed = nil
        case (nil, _): throw Refusal.invalid("signedData", "is missing: send it with its signature")
        case (_, nil): throw Refusal.invalid("signature", "is missing: send it with signedData")
        }
    }

    private static func identifier<ID: Identifier>(_ value: JSONValue?, _ field: String) throws -> ID {
        guard let id = value?.stringValue.flatMap(ID.init(rawValue:)) else {
            throw Refusal.invalid(field, "should be a string of \(ID.rule)")
        }
        return id
    }

    private static func text(_ value: JSONValue?, _ field: String) throws -> String? {
        guard let value, !value.isNull else { return nil }
        guard let text = value.stringValue else { throw Refusal.invalid(field, "should be a string") }
        return text
    }

    /// Returns the customer's stored answer with two more members. It names the purchase by its original transaction id,
    /// because answers are stored for repetitions and a token is a credential.
    static func body(_ customer: [UInt8], acknowledging original: TransactionID) -> [UInt8] {
        customer.dropLast() + ending(original.rawValue)
    }

    /// Replaces the original transaction id in an answer by the token of this request.
    func name(in response: inout HTTPResponse) async throws {
        guard response.status == 200 else { return }
        let ending = Self.ending(PlayFetch.original(purchaseToken, of: packageName).rawValue)
        let body = try await response.body.collect(upTo: .max)
        guard body.suffix(ending.count).elementsEqual(ending) else {
            response.body = .bytes(body)
            return
        }
        response.body = .bytes(body.dropLast(ending.count) + Self.ending(purchaseToken.rawValue))
    }

    private static func ending(_ name: String) -> [UInt8] {
        var writer = JSONWriter()
        writer.raw(",\"acknowledgedPurchaseTokens\":[")
        writer.write(name)
        writer.raw("],\"rejected\":[]}")
        return writer.bytes
    }
}

extension PlayReader.Rejection {
    /// The codes of rejected purchases that signed data does not have.
    static let codes = [
        "expiredPurchaseToken", "purchaseCanceled", "unknownPurchaseToken", "wrongProduct", "wrongPurchaseToken",
    ]

    /// A pending purchase is refused with 409, which is not stored for repetitions: it may be complete at the next one.
    fileprivate var refusal: Refusal {
        if code == Self.pending {
            return Refusal(
                HTTPProblem(
                    status: 409, code: code, title: "Not complete", detail: detail, field: "purchaseToken",
                    isRetryable: true))
        }
        return .rejected(
            RejectedTransaction(index: 0, code: code, detail: detail, retryable: isRetryable), field: "purchaseToken")
    }
}

extension Refusal {
    static func unavailable(_ failure: GooglePlayFailure) -> Refusal {
        // Google's own words may concern the operator only, such as an access that the service account lacks.
        .unavailable(
            "Google Play cannot be asked at the moment; nothing was stored. Try again.",
            retryAfter: Int((failure.retryAfter ?? 1).rounded(.up)))
    }

    fileprivate static let noGooglePlay = Refusal(
        HTTPProblem(
            status: 501, code: "unsupported", title: "Not supported",
            detail: "This server has no Google Play for the app; start it with --play-package."))
}
