import Foundation
import HTTPCore
import Primitives
import SQLStorage
import SignedData
import StoreKitAdapter
import StoreModel

extension SimulatedAppStore {
    /// Serves the store's client side and its control API (`StoreWire`, `StoreControlWire`). Made anew at each call.
    public var handler: any HTTPHandler { StoreRoutes(store: self).router }
}

struct StoreRoutes: Sendable {
    let store: SimulatedAppStore

    static let bodyLimit = 64 << 10

    typealias Answer =
        @Sendable (SimulatedAppStore, HTTPRequest, PathParameters) async throws -> any Encodable & Sendable

    var router: Router {
        var router = Router()
        addDeviceRoutes(&router)
        addControlRoutes(&router)
        addUnsupportedRoutes(&router)
        return router
    }

    func on(
        _ method: HTTPRequest.Method, _ pattern: String, status: Int = 200, in router: inout Router,
        _ answer: @escaping Answer
    ) {
        router.on(method, pattern) { [store] request, path in
            .suspended {
                do {
                    let bytes = try WireJSON.encode(try await answer(store, request, path))
                    return HTTPResponse(
                        status: status, headers: ["Content-Type": "application/json"], body: .bytes(bytes))
                } catch {
                    return Refusal(error).response
                }
            }
        }
    }

    // MARK: - The client side

    private func addDeviceRoutes(_ router: inout Router) {
        let device = "/store/v1/devices/{device}"
        on(.post, "/store/v1/devices", in: &router) { store, request, _ in
            let body = try await Self.body(StoreWire.SignIn.self, of: request)
            return try await store.signIn(account: Self.account(body.account, field: "account"))
        }
        on(.get, device, in: &router) { store, _, path in try store.device(Self.device(path)) }
        on(.get, device + "/products", in: &router) { store, request, path in
            _ = try store.device(Self.device(path))
            return store.products(try Self.productIDs(of: request))
        }
        on(.post, device + "/payments", in: &router) { store, request, path in
            let payment = try await Self.body(Payment.self, of: request)
            try await store.add(payment, from: Self.device(path))
            return StoreWire.Accepted(paymentID: payment.id)
        }
        on(.get, device + "/updates", in: &router) { store, request, path in
            let query = try Self.query(of: request)
            return try await store.updates(
                for: Self.device(path), after: query["after"], wait: try query.seconds("wait"),
                storefront: query["storefront"])
        }
        on(.post, device + "/transactions/{transaction}/finish", in: &router) { store, _, path in
            guard let id = TransactionID(rawValue: path["transaction"]) else {
                throw SimulatorError(.unknownTransaction, "There is no transaction of that name.")
            }
            try await store.finish(id, from: Self.device(path))
            return JSONValue.object([:] as JSONMembers)
        }
        on(.post, device + "/restore", in: &router) { store, _, path in
            StoreWire.Transactions(transactions: try await store.restore(for: Self.device(path)))
        }
    }

    // MARK: - Control

    private func addControlRoutes(_ router: inout Router) {
        let account = "/control/v1/accounts/{account}"
        on(.get, "/control/v1/clock", in: &router) { store, request, _ in
            let query = try Self.query(of: request)
            return await store.clockState(after: try query.integer("after"), wait: try query.seconds("wait"))
        }
        on(.post, "/control/v1/clock/advance", in: &router) { store, request, _ in
            try await store.advance(try await Self.body(StoreControlWire.Advance.self, of: request))
        }
        on(.get, "/control/v1/accounts", in: &router) { store, _, _ in
            StoreControlWire.Accounts(accounts: try store.accounts().map { .init(name: $0.rawValue) })
        }
        on(.post, "/control/v1/accounts", status: 201, in: &router) { store, request, _ in
            let account = try await Self.body(StoreControlWire.Account.self, of: request)
            try await store.createAccount(Self.account(account.name, field: "name"))
            return account
        }
        on(.get, "/control/v1/products", in: &router) { store, request, _ in
            store.products(try Self.productIDs(of: request))
        }
        on(.post, account + "/buy", in: &router) { store, request, path in
            let body = try await Self.body(StoreControlWire.Buy.self, of: request)
            return try await store.buy(body, for: Self.account(path["account"], field: "account"))
        }
        on(.post, account + "/cancel", in: &router) { store, request, path in
            let body = try await Self.body(StoreControlWire.Cancel.self, of: request)
            return try await store.cancel(body.productID, for: Self.account(path["account"], field: "account"))
        }
        on(.get, account + "/transactions", in: &router) { store, _, path in
            let account = try Self.account(path["account"], field: "account")
            return StoreControlWire.Transactions(transactions: try await store.transactions(of: account))
        }
    }

    /// Operations that are named already and built later.
    private func addUnsupportedRoutes(_ router: inout Router) {
        let account = "/control/v1/accounts/{account}"
        let transaction = "/control/v1/transactions/{transaction}"
        let device = "/store/v1/devices/{device}"
        let operations: [(HTTPRequest.Method, String, String)] = [
            (.post, account + "/renew", "Renewing before the period ends"),
            (.post, account + "/fail-billing", "Failing payments"),
            (.post, account + "/resolve-billing", "Failing payments"),
            (.post, transaction + "/refund", "Refunding"), (.post, transaction + "/revoke", "Revoking"),
            (.post, transaction + "/ask-to-buy", "Asking to buy"),
            (.put, "/control/v1/settings/{name}", "Changing settings"),
            (.post, device + "/offer-codes", "Redeeming offer codes"),
            (.post, device + "/messages/{message}", "Answering messages"),
            (.post, "/verifyReceipt", "Verifying receipts"),
        ]
        for (method, pattern, subject) in operations {
            on(method, pattern, in: &router) { _, _, _ in
                throw Self.unsupported(subject)
            }
        }
        let standard = router.refuse
        router.refuse = { refusal, request in
            if case .notFound = refusal, request.path.hasPrefix("/inApps/") {
                return Refusal(Self.unsupported("The App Store Server API")).response
            }
            return standard(refusal, request)
        }
    }

    private static func unsupported(_ subject: String) -> SimulatorError {
        SimulatorError(.unsupported, "\(subject) is not built yet; a later version of the simulator does it.")
    }

    // MARK: - Requests

    private static func body<Body: Decodable>(_ type: Body.Type, of request: HTTPRequest) async throws -> Body {
        try WireJSON.decode(type, from: try await request.body.collect(upTo: bodyLimit))
    }

    private static func query(of request: HTTPRequest) throws -> HTTPQuery {
        guard let query = request.query else {
            throw SimulatorError(.malformed, "An escape in the query is incomplete or is not UTF-8.")
        }
        return query
    }

    private static func productIDs(of request: HTTPRequest) throws -> [ProductID] {
        try query(of: request).values("id").map { text in
            guard let id = ProductID(rawValue: text) else {
                throw SimulatorError(.malformed, "An id has 1 to 255 bytes and no control characters.")
            }
            return id
        }
    }

    private static func device(_ path: PathParameters) throws -> DeviceID {
        guard let id = DeviceID(rawValue: path["device"]) else {
            throw SimulatorError(.unknownDevice, "There is no device of that name; sign in first.")
        }
        return id
    }

    private static func account(_ name: String, field: String) throws -> AccountName {
        guard let name = AccountName(rawValue: name) else {
            throw SimulatorError(.malformed, "The \(field) has 1 to 255 bytes and no control characters.")
        }
        return name
    }
}

extension HTTPQuery {
    fileprivate func integer(_ name: String) throws -> Int64? {
        guard let text = self[name] else { return nil }
        guard let value = Int64(text), value >= 0 else {
            throw SimulatorError(.malformed, "The query's \(name) is a whole number from 0.")
        }
        return value
    }

    fileprivate func seconds(_ name: String) throws -> Double {
        guard let text = self[name] else { return 0 }
        guard let value = Double(text), value.isFinite, value >= 0 else {
            throw SimulatorError(.malformed, "The query's \(name) is a number of seconds from 0.")
        }
        return value
    }
}
