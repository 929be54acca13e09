import Foundation
import HTTPCore
import Primitives
import StoreModel

/// The endpoint POST `/v1/webhooks/{source}`: a web shop reports a sale. It needs no key: the request is signed with a
/// secret that the shop and this server share (`WebhookSignature`).
struct WebPurchaseRoute: Sendable {
    private static let maximumBody = 64 << 10

    let ledger: Ledger
    /// The shops. A reload can change their secrets.
    let sources: Locked<[EntitlementService.Configuration.WebPurchaseSource]>
    /// The clock that determines the age of a signature.
    let realClock: any WallClock

    var endpoints: [Endpoint<ServerHandler>] {
        [
            Endpoint(
                .post, "/v1/webhooks/{source}", "postWebPurchase", "Report a sale of a web shop", tag: .facts,
                parameters: [
                    .init(
                        WebhookSignature.field, in: .header, .text,
                        "t=<unix seconds>,v1=<hexadecimal HMAC-SHA256 of t, a period and the body>")
                ], body: .init(.webPurchase), answer: .acknowledged,
                refusals: [
                    401: ["missing_signature", "malformed_signature", "signature_invalid", "signature_not_current"],
                    404: ["unknown_source"], 409: ["customer_erased"], 422: Refusal.signedDataCodes,
                ], handler: .open(respond))
        ]
    }

    @Sendable private func respond(to call: Call) throws -> HTTPReply {
        let name = call.path["source"]
        guard let source = sources.withLock({ $0.first { $0.name.hasSameBytes(as: name) } }) else {
            throw Refusal.unknownSource
        }
        return call.later {
            let body = try await RequestBody.bytes(of: call.request, upTo: Self.maximumBody)
            do throws(WebhookSignature.VerificationError) {
                try WebhookSignature.check(
                    call.request.headers[WebhookSignature.field], of: body, at: realClock.now(),
                    secrets: source.secrets)
            } catch {
                throw Refusal.notSigned(error)
            }
            let purchase = try RequestBody.decode(WebPurchase.self, from: body)
            try purchase.check()
            let answer = try await ledger.record(
                purchase.facts(body, in: source.environment), of: source.app, by: purchase.customer,
                answering: source.environment, as: nil
            ) { recorded, _ in
                if let rejected = recorded.rejected.first {
                    let isMoved = rejected.code == "boundToAnotherPurchase"
                    throw Refusal.rejected(rejected, field: isMoved ? "originalTransactionID" : "customer")
                }
                let answer: JSONValue = [
                    "acknowledgedTransactionIDs": .array(recorded.acknowledged.map { .string($0.rawValue) })
                ]
                return KeptAnswer(status: 200, contentType: "application/json", body: answer.encoded())
            }
            return answer.response
        }
    }
}

extension Refusal {
    fileprivate static let unknownSource = Refusal(
        HTTPProblem(
            status: 404, code: "unknown_source", title: "Unknown source",
            detail: "This server has no web purchase source with this name.", field: "source"))

    fileprivate static func notSigned(_ failure: WebhookSignature.VerificationError) -> Refusal {
        let (code, detail) =
            switch failure {
            case .missing: ("missing_signature", "Sign the body: t=<unix seconds>,v1=<hexadecimal HMAC-SHA256>.")
            case .malformed:
                ("malformed_signature", "The signature should be t=<unix seconds>,v1=<hexadecimal HMAC-SHA256>.")
            case .signatureMismatch: ("signature_invalid", "The signature does not match a secret of this source.")
            case .timestampOutOfTolerance:
                ("signature_not_current", "The signature is more than five minutes old, or from the future.")
            }
        return Refusal(
            HTTPProblem(
                status: 401, code: code, title: "Not signed by the source", detail: detail,
                field: WebhookSignature.field))
    }
}
