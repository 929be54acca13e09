import Foundation
import HTTPCore
import Primitives
import StoreModel

/// The backend of the promotional codes: three endpoints with the API key of the app.
final class PromoCodeBackend: HTTPHandler {
    private let key: String
    private let clock: any WallClock
    private let store: Locked<PromoCodeStore>

    init(_ store: PromoCodeStore, key: String, clock: any WallClock = SystemClock()) {
        self.store = Locked(store)
        self.key = key
        self.clock = clock
    }

    func respond(to request: HTTPRequest) -> HTTPReply {
        guard request.headers["Authorization"] == "Bearer \(key)" else {
            return .ready(Self.refuse(401, "unknown_key", "The API key is missing or unknown."))
        }
        return router.respond(to: request)
    }

    private var router: Router {
        var router = Router()
        router.on(.get, "/codes/{code}") { [self] _, path in
            let code = path["code"]
            guard let offer = store.withLock({ $0.offer(code) }) else { return .ready(Self.unknownCode) }
            return .ready(Self.answer(200, CodeDescription(code: code, title: offer.title)))
        }
        router.on(.get, "/customers/{customer}/redemptions") { [self] _, path in
            guard let customer = CustomerID(rawValue: path["customer"]) else { return .ready(Self.malformed) }
            let redemptions = store.withLock { $0.redemptions(of: customer) }
            return .ready(Self.answer(200, RedemptionsAnswer(redemptions: redemptions)))
        }
        router.on(.post, "/redemptions") { [self] request, _ in
            .suspended { [self] in
                guard let body = try? await request.body.collect(upTo: 4096),
                    let asked = try? WireJSON.decode(RedeemCodeRequest.self, from: body)
                else { return Self.malformed }
                return redeem(asked)
            }
        }
        return router
    }

    private func redeem(_ asked: RedeemCodeRequest) -> HTTPResponse {
        let now = clock.now()
        do {
            return Self.answer(
                201,
                try store.withLock { store throws(PromoCodeStore.Refusal) in
                    try store.redeem(asked.code, for: asked.customer, at: now)
                })
        } catch {
            switch error {
            case .unknownCode: return Self.unknownCode
            case .usedUp: return Self.refuse(410, "used_up", "The code has no uses left.")
            }
        }
    }

    private static let unknownCode = refuse(404, "unknown_code", "There is no such code.")
    private static let malformed = refuse(400, "malformed", "The request does not have the expected form.")

    private static func refuse(_ status: Int, _ code: String, _ detail: String) -> HTTPResponse {
        HTTPProblem(status: status, code: code, title: "Refused", detail: detail).response
    }

    private static func answer(_ status: Int, _ value: some Encodable) -> HTTPResponse {
        guard let bytes = try? WireJSON.encode(value) else { return HTTPResponse(status: 500) }
        return HTTPResponse(
            status: status, headers: ["Content-Type": "application/json"], body: .bytes(bytes))
    }
}
