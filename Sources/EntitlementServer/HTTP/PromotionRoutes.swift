import Foundation
import HTTPCore
import Primitives
import StoreModel

/// The endpoints of promotional codes. A code gives a feature to each customer that redeems it, once.
struct PromotionRoutes: Sendable {
    private static let maximumBody = 64 << 10
    /// Letters and digits without those that look alike.
    private static let alphabet = Array("ABCDEFGHJKLMNPQRSTUVWXYZ23456789")

    let ledger: Ledger
    let idempotent: IdempotentRequests
    let makeGrantID: @Sendable () -> String
    let randomBytes: @Sendable (Int) -> [UInt8]

    var endpoints: [Endpoint<ServerHandler>] {
        [
            Endpoint(
                .post, "/v1/promotions", "postPromotion", "Create a promotional code", tag: .gifts,
                body: .init(.promotionRequest), status: 201, answer: .promotion, refusals: [409: ["code_taken"]],
                isIdempotent: true,
                links: [.init("end", to: "deletePromotion", [(name: "code", expression: "$response.body#/code")])],
                handler: .authorized(.secretKey, create)),
            Endpoint(
                .get, "/v1/promotions", "getPromotions", "List promotional codes", tag: .gifts,
                parameters: .page, answer: .promotions, handler: .authorized(.secretKey, list)),
            Endpoint(
                .delete, "/v1/promotions/{code}", "deletePromotion", "Withdraw a promotional code", tag: .gifts,
                status: 204,
                answer: nil, refusals: [404: ["unknown_code"]], handler: .authorized(.secretKey, delete)),
            Endpoint(
                .post, "/v1/customers/{customer}/promotions", "redeemPromotion", "Redeem a promotional code",
                tag: .gifts, body: .init(.promotionCode), answer: .customer,
                refusals: [404: ["unknown_code"], 409: ["code_not_redeemable", "customer_erased"]], isIdempotent: true,
                links: .toCustomer, handler: .authorized(.customer, redeem)),
        ]
    }

    @Sendable private func create(_ context: RequestContext) throws -> HTTPReply {
        context.later {
            let body = try await RequestBody.bytes(of: context.request, upTo: Self.maximumBody)
            return try await idempotent.respond(to: context, body: body, namesCustomer: false) { idempotency in
                var promotion = try RequestBody.decode(Promotion.self, from: body)
                try check(promotion)
                promotion.code = try promotion.code.map(Self.canonical) ?? newCode()
                promotion.until = promotion.until?.wholeMillisecond
                promotion.redeemableUntil = promotion.redeemableUntil?.wholeMillisecond
                promotion.redemptions = 0
                do {
                    return try await ledger.add(
                        promotion, in: context.ledgerID, as: idempotency,
                        answer: try KeptAnswer(status: 201, wire: promotion))
                } catch Ledger.PromotionRefusal.taken {
                    throw Refusal.codeTaken
                }
            }
        }
    }

    @Sendable private func list(_ context: RequestContext) throws -> HTTPReply {
        let page = try context.page()
        return .ready(
            try HTTPResponse(
                wire: try ledger.promotions(in: context.ledgerID, after: page.cursor ?? "", limit: page.limit)))
    }

    @Sendable private func delete(_ context: RequestContext) throws -> HTTPReply {
        guard let code = try? Self.canonical(context.path["code"]) else { throw Refusal.unknownCode }
        return context.later {
            guard try await ledger.withdrawPromotion(code, in: context.ledgerID) else { throw Refusal.unknownCode }
            return HTTPResponse(status: 204)
        }
    }

    @Sendable private func redeem(_ context: RequestContext) throws -> HTTPReply {
        let customer = try context.customer()
        return context.later {
            let body = try await RequestBody.bytes(of: context.request, upTo: Self.maximumBody)
            return try await idempotent.respond(to: context, body: body) { idempotency in
                let code = try Self.canonical(RequestBody.decode(PromotionCodeRequest.self, from: body).code)
                do {
                    return try await ledger.redeem(
                        code: code, for: customer, grantID: makeGrantID(), as: idempotency, respond: KeptAnswer.ok)
                } catch Ledger.PromotionRefusal.unknown {
                    throw Refusal.unknownCode
                } catch Ledger.PromotionRefusal.notRedeemable {
                    throw Refusal.codeNotRedeemable
                }
            }
        }
    }

    private func check(_ promotion: Promotion) throws {
        let now = ledger.clock.now().wholeMillisecond
        guard ProductID.isValid(promotion.feature) else {
            throw Refusal.invalid("feature", "should have \(ProductID.rule)")
        }
        guard promotion.lasts == nil || promotion.until == nil else {
            throw Refusal.invalid("until", "cannot be combined with lasts: send one of the two")
        }
        for (field, date) in [("until", promotion.until), ("redeemableUntil", promotion.redeemableUntil)] {
            guard date.map({ $0 > now }) ?? true else { throw Refusal.invalid(field, "should be in the future") }
        }
        guard promotion.limit.map({ (1...1_000_000_000).contains($0) }) ?? true else {
            throw Refusal.invalid("limit", "should be a number from 1 to 1000000000")
        }
    }

    /// Returns a code in its stored form, in upper case. Throws 400.
    private static func canonical(_ code: String) throws -> String {
        // Checked before the conversion, because some letters outside ASCII have capitals in ASCII.
        let isCode =
            (4...64).contains(code.utf8.count)
            && code.utf8.allSatisfy { byte in
                (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
                    || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || byte == UInt8(ascii: "-")
            }
        guard isCode else { throw Refusal.invalid("code", "should have 4 to 64 ASCII letters, digits and hyphens") }
        return code.uppercased()
    }

    /// Returns a new code of 12 characters with 5 bits each, which cannot be guessed.
    private func newCode() -> String {
        String(randomBytes(12).map { Self.alphabet[Int($0 & 31)] })
    }
}

extension Refusal {
    fileprivate static let codeTaken = Refusal(
        HTTPProblem(
            status: 409, code: "code_taken", title: "Code taken",
            detail: "A promotion has or had this code; choose another one.", field: "code"))

    fileprivate static let unknownCode = Refusal(
        HTTPProblem(
            status: 404, code: "unknown_code", title: "Unknown code",
            detail: "There is no promotion with this code.", field: "code"))

    fileprivate static let codeNotRedeemable = Refusal(
        HTTPProblem(
            status: 409, code: "code_not_redeemable", title: "Code not redeemable",
            detail: "The promotion has expired, or its code was redeemed as often as allowed.", field: "code"))
}
