import SimulatorControl
import BaseTestSupport
import Foundation
import HTTPCore
import Primitives
import StoreKitAdapter
import StoreModel
import Testing

@testable import AppStoreSimulator

/// The store over HTTP, in the formats of `StoreWire` and `StoreControlWire`.
struct StoreRoutesTests {
    struct Client {
        let transport: InProcessTransport

        init(_ test: TestStore) { transport = InProcessTransport(test.store.handler) }

        func ask(
            _ method: HTTPRequest.Method, _ path: String, _ body: String = ""
        ) async throws -> (status: Int, json: JSONValue) {
            let headers: HTTPHeaders = body.isEmpty ? [:] : ["Content-Type": "application/json"]
            let response = try await transport.send(
                HTTPRequest(method: method, url: "http://store.test" + path, headers: headers, body: .text(body)))
            let isProblem = response.headers["Content-Type"] == "application/problem+json"
            #expect(isProblem == !response.isSuccess)
            let json = try await response.body.json(upTo: 64 << 20)
            try Self.check(response.status, json, of: method, path)
            return (response.status, json)
        }

        /// Checks that an answer fits the endpoint's schema in the OpenAPI document.
        private static func check(
            _ status: Int, _ json: JSONValue, of method: HTTPRequest.Method, _ target: String
        ) throws {
            let path = target.prefix { $0 != "?" }
            let endpoint = StoreEndpoints.all.first { $0.method == method && $0.matches(path) }
            guard let endpoint else { return }
            guard !(200..<300).contains(status) else {
                #expect(status == endpoint.status, "\(endpoint.id)")
                #expect(endpoint.answer?.violation(json) == nil, "\(endpoint.id): \(json)")
                return
            }
            #expect(WireSchema.problem.violation(json) == nil, "\(json)")
            let code = try #require(json["code"]?.stringValue)
            let declared = try #require(
                StoreOpenAPIDocument.refusals(of: endpoint)[status], "\(endpoint.id) does not say \(status)")
            #expect(declared.contains(code) || declared.contains { $0.contains("StoreFailure") }, "\(code)")
        }

        func ask<Answer: Decodable>(
            _ method: HTTPRequest.Method, _ path: String, _ body: String = "", as type: Answer.Type
        ) async throws -> Answer {
            let (status, json) = try await ask(method, path, body)
            #expect((200..<300).contains(status), "\(path): \(status) \(json)")
            return try WireJSON.decode(type, from: json.encoded())
        }

        func signIn(_ account: String = "anna") async throws -> String {
            _ = try await ask(.post, "/control/v1/accounts", #"{"name":"\#(account)"}"#)
            let device = try await ask(
                .post, "/store/v1/devices", #"{"account":"\#(account)"}"#, as: StoreWire.Device.self)
            return "/store/v1/devices/" + device.deviceID
        }
    }

    @Test func `a device signs in, loads products, buys, gets updates, finishes and restores`() async throws {
        try await TestStore.with { test in
            let client = Client(test)
            let device = try await client.signIn()
            let described = try await client.ask(.get, device, as: StoreWire.Device.self)
            #expect(described.account == "anna" && described.canMakePayments && described.storefront == Storefronts.usa)

            let all = try await client.ask(.get, device + "/products", as: ProductAnswer.self)
            #expect(all.products.count == 11 && all.invalidProductIDs.isEmpty)
            let some = try await client.ask(
                .get, device + "/products?id=pack&id=nothing&id=coins", as: ProductAnswer.self)
            #expect(some.products.map(\.id) == ["coins", "pack"] && some.invalidProductIDs == ["nothing"])
            #expect(some.products.map(\.displayPrice) == ["$0.99", "$9.99"])

            let accepted = try await client.ask(
                .post, device + "/payments", #"{"id":"p1","productID":"pack","quantity":1}"#,
                as: StoreWire.Accepted.self)
            #expect(accepted.paymentID == "p1")
            let answer = try await client.ask(.get, device + "/updates?wait=1", as: StoreWire.Updates.self)
            let transaction = try #require(answer.updates.first?.transaction)
            #expect(answer.updates.map(\.state) == ["purchased"])
            let finish = try await client.ask(.post, device + "/transactions/\(transaction.id)/finish")
            #expect(finish.status == 200 && finish.json == [:])
            let restored = try await client.ask(.post, device + "/restore", as: StoreWire.Transactions.self)
            #expect(restored.transactions.map(\.id) == [transaction.id])
        }
    }

    @Test func `a tester creates accounts, buys, cancels, advances time and reads transactions`() async throws {
        try await TestStore.with { test in
            let client = Client(test)
            let made = try await client.ask(.post, "/control/v1/accounts", #"{"name":"Anna B/ä"}"#)
            #expect(made.status == 201 && made.json["name"] == "Anna B/ä" && made.json["storefront"] == "USA")
            let accounts = try await client.ask(.get, "/control/v1/accounts", as: StoreControlWire.Accounts.self)
            #expect(accounts.accounts.map(\.name) == ["Anna B/ä"])
            let account = "/control/v1/accounts/Anna%20B%2F%C3%A4"
            let products = try await client.ask(.get, "/control/v1/products", as: ProductAnswer.self)
            let abroad = try await client.ask(.get, "/control/v1/products?storefront=DEU", as: ProductAnswer.self)
            #expect(abroad.products.map(\.id) == products.products.map(\.id))
            #expect(abroad.products.allSatisfy { $0.price.currency == "EUR" })
            let unknown = try await client.ask(.get, "/control/v1/products?storefront=XXX")
            #expect(unknown.status == 422 && unknown.json["code"] == "unknownStorefront")
            #expect(products.products.count == 11)
            let bought = try await client.ask(
                .post, account + "/buy", #"{"productID":"weekly"}"#, as: StoreControlWire.Transaction.self)
            #expect(bought.state == "purchased" && bought.signedRenewalInfo != nil)
            let cancelled = try await client.ask(
                .post, account + "/cancel", #"{"productID":"weekly"}"#, as: StoreControlWire.Transaction.self)
            #expect(cancelled.transactionID == bought.transactionID)
            let clock = try await client.ask(
                .post, "/control/v1/clock/advance", #"{"period":"P1W"}"#, as: StoreControlWire.ClockState.self)
            #expect(clock.now == Fixtures.date("2026-02-07T10:00:00Z"))
            let later = try await client.ask(
                .post, "/control/v1/clock/advance", #"{"seconds":1.5}"#, as: StoreControlWire.ClockState.self)
            #expect(later.now == Fixtures.date("2026-02-07T10:00:01.5Z") && later.revision == clock.revision + 1)
            let seen = try await client.ask(
                .get, "/control/v1/clock?after=1&wait=5", as: StoreControlWire.ClockState.self)
            #expect(seen == later)
            let noon = try await client.ask(
                .post, "/control/v1/clock/advance", #"{"to":"2026-02-07T14:00:00+02:00"}"#,
                as: StoreControlWire.ClockState.self)
            #expect(noon.now == Fixtures.date("2026-02-07T12:00:00Z"))
            for past in ["2026-02-07T12:00:00Z", "2026-02-07T11:59:59.999Z", "9100-01-01T00:00:00Z"] {
                let answer = try await client.ask(.post, "/control/v1/clock/advance", #"{"to":"\#(past)"}"#)
                #expect(answer.status == 422 && answer.json["code"] == "invalidValue", "\(past): \(answer.json)")
            }
            #expect(await test.store.clockState().now == noon.now)
            let transactions = try await client.ask(
                .get, account + "/transactions", as: StoreControlWire.Transactions.self)
            #expect(transactions.transactions.map(\.state) == ["expired"])
        }
    }

    @Test func `a tester can list the transactions that give access`() async throws {
        try await TestStore.with { test in
            let client = Client(test)
            try await test.store.createAccount("anna")
            let account = "/control/v1/accounts/anna"
            let weekly = try await client.ask(
                .post, account + "/buy", #"{"productID":"weekly"}"#, as: StoreControlWire.Transaction.self)
            _ = try await client.ask(.post, account + "/buy", #"{"productID":"coins"}"#)
            func entitlements() async throws -> [TransactionID] {
                try await client.ask(.get, account + "/entitlements", as: StoreControlWire.Transactions.self)
                    .transactions.map(\.transactionID)
            }
            #expect(try await entitlements() == [weekly.transactionID])
            try await test.advance(.weeks(1))
            let renewed = try await entitlements()
            #expect(renewed.count == 1 && renewed != [weekly.transactionID])
            try await test.store.expire("weekly", for: "anna")
            #expect(try await entitlements().isEmpty)
        }
    }

    @Test(arguments: [
        ("90s", StoreControlWire.Advance(seconds: 90)), ("15m", .init(seconds: 900)), ("6h", .init(seconds: 21600)),
        ("40d", .init(seconds: 3_456_000)), ("2w", .init(seconds: 1_209_600)), ("P1W", .init(seconds: 604_800)),
        ("1y", .init(period: .years(1))), ("P1M", .init(period: .months(1))), ("PT5M", .init(seconds: 300)),
        ("2026-02-07T14:00:00+02:00", .init(to: Fixtures.date("2026-02-07T12:00:00Z"))),
        ("", nil), ("s", nil), ("0d", nil), ("-1d", nil), ("1 month", nil), ("P1MT1H", nil), ("2026-02-07", nil),
    ])
    func `an advance is parsed from each notation, and other texts are refused`(
        text: String, advance: StoreControlWire.Advance?
    ) {
        #expect(StoreControlWire.Advance(text) == advance)
    }

    @Test(arguments: [
        ("POST", "/store/v1/devices", #"{"account":"nobody"}"#, 404, "unknownAccount"),
        ("POST", "/store/v1/devices", #"{"account":""}"#, 400, "malformed"),
        ("POST", "/store/v1/devices", #"{"acount":"anna"}"#, 400, "malformed"),
        ("POST", "/store/v1/devices", "{", 400, "malformed"),
        ("GET", "/store/v1/devices/x", "", 404, "unknownDevice"),
        ("GET", "/store/v1/devices/x/updates", "", 404, "unknownDevice"),
        ("GET", "/store/v1/devices/x/products", "", 404, "unknownDevice"),
        ("POST", "/store/v1/devices/x/restore", "", 404, "unknownDevice"),
        ("POST", "/store/v1/devices/x/payments", #"{"id":"p","productID":"pack","quantity":1}"#, 404, "unknownDevice"),
        ("POST", "DEVICE/payments", #"{"id":"p","productID":"pack","quantity":"1"}"#, 400, "malformed"),
        ("POST", "DEVICE/transactions/77/finish", "", 404, "unknownTransaction"),
        ("GET", "DEVICE/updates?after=x", "", 422, "invalidValue"),
        ("GET", "DEVICE/updates?wait=-1", "", 400, "malformed"),
        ("GET", "DEVICE/updates?wait=%ZZ", "", 400, "malformed"),
        ("POST", "/control/v1/accounts", #"{"name":"anna"}"#, 409, "accountExists"),
        ("POST", "/control/v1/accounts/anna/buy", #"{"productID":"nothing"}"#, 404, "invalidProduct"),
        ("POST", "/control/v1/accounts/anna/buy", #"{"productID":"coins","quantity":11}"#, 422, "invalidQuantity"),
        ("POST", "/control/v1/accounts/bob/buy", #"{"productID":"coins"}"#, 404, "unknownAccount"),
        ("POST", "/control/v1/accounts/anna/cancel", #"{"productID":"weekly"}"#, 404, "unknownSubscription"),
        ("GET", "/control/v1/accounts/bob/transactions", "", 404, "unknownAccount"),
        ("POST", "/control/v1/clock/advance", "{}", 400, "malformed"),
        ("POST", "/control/v1/clock/advance", #"{"period":"P1M","seconds":2}"#, 400, "malformed"),
        ("POST", "/control/v1/clock/advance", #"{"period":"1 month"}"#, 400, "malformed"),
        ("POST", "/control/v1/clock/advance", #"{"to":"2027-01-01"}"#, 400, "malformed"),
        ("POST", "/control/v1/clock/advance", #"{"seconds":2,"to":"2027-01-01T00:00:00Z"}"#, 400, "malformed"),
        ("GET", "/control/v1/accounts/bob/entitlements", "", 404, "unknownAccount"),
        ("PUT", "/control/v1/settings/locale", #"{"value":"de"}"#, 404, "unknownSetting"),
        ("PUT", "/control/v1/settings/gracePeriod", #"{"value":"17d"}"#, 422, "invalidValue"),
        ("PUT", "/control/v1/settings/gracePeriod", #"{"value":null}"#, 400, "malformed"),
        ("GET", "/nowhere", "", 404, "not_found"), ("DELETE", "/control/v1/accounts", "", 405, "method_not_allowed"),
    ])
    func `a refusal is a problem document with its code and changes nothing`(
        method: String, path: String, body: String, status: Int, code: String
    ) async throws {
        try await TestStore.with { test in
            let client = Client(test)
            let device = try await client.signIn()
            let path = path.replacingOccurrences(of: "DEVICE", with: device)
            let (answered, problem) = try await client.ask(.init(method), path, body)
            #expect(answered == status && problem["code"]?.stringValue == code)
            #expect(problem["detail"]?.stringValue?.hasSuffix(".") == true || code == "malformed")
            #expect(try test.store.accounts() == ["anna"])
            let sold = try await test.store.transactions(of: "anna")
            #expect(sold.isEmpty)
            #expect(await test.store.clockState().revision == 1)
        }
    }

    @Test func `the error about a malformed body names the field`() async throws {
        try await TestStore.with { test in
            let client = Client(test)
            let device = try await client.signIn()
            let missing = try await client.ask(.post, device + "/payments", #"{"productID":"pack","quantity":1}"#)
            #expect(missing.json["field"] == "id")
            let wrong = try await client.ask(.post, device + "/payments", #"{"id":"p","productID":7,"quantity":1}"#)
            #expect(wrong.json["field"] == "productID")
        }
    }

    @Test(arguments: [
        (#"{"name":"bob","name":"eve"}"#, "twice in one object"),
        (#"{"name":"bob","other":{"a":1,"a":2}}"#, "twice in one object"),
        (
            #"{"name":"bob","other":"# + String(repeating: "[", count: 128) + String(repeating: "]", count: 128) + "}",
            "nest too deep"
        ),
    ])
    func `a body with a duplicate key or too deep is refused`(body: String, words: String) async throws {
        try await TestStore.with { test in
            let answer = try await Client(test).ask(.post, "/control/v1/accounts", body)
            #expect(answer.status == 400 && answer.json["code"] == "malformed")
            #expect(answer.json["detail"]?.stringValue?.contains(words) == true, "\(answer.json)")
            #expect(try test.store.accounts() == [])
        }
    }

    @Test func `a body that is too long is refused`() async throws {
        try await TestStore.with { test in
            let name = String(repeating: "a", count: StoreEndpoints.bodyLimit)
            let answer = try await Client(test).ask(.post, "/control/v1/accounts", #"{"name":"\#(name)"}"#)
            #expect(answer.status == 413)
        }
    }

    @Test func `a followed clock has the time of the store's clock, after jumps and without a connection`() async throws
    {
        let folder = try ScratchFolder()
        let base = ManualClock()
        let link = SwitchedTransport()
        let test = try await TestStore.open(rate: .real, in: folder, base: base)
        let followed = SimulatorClock(url: "http://store.test/control/v1", transport: link, base: base)
        await #expect(throws: StoreFailure.self) { try await followed.start() }
        link.handler.withLock { $0 = test.store.handler }
        try await followed.start()
        #expect(followed.now() == Fixtures.start)
        base.advance(by: 60)
        #expect(followed.now() == test.store.clock.now())
        #expect(followed.now() == Fixtures.start.addingTimeInterval(60))

        // The followed clock receives the jump, and wakes sleepers.
        async let woken: Void = followed.sleep(until: Fixtures.start.addingTimeInterval(20 * 86400))
        try await test.advance(.months(1))
        try await woken
        #expect(followed.now() == test.store.clock.now() && followed.revision == 2)

        // Without a connection the followed clock continues at the last rate. After a reconnect it has the store's
        // time.
        link.handler.withLock { $0 = nil }
        let refused = link.refused.all.count
        await test.store.close()
        // It retries only after it has processed the last answer of the closing store.
        await link.refused.wait { $0.count > refused }
        base.advance(by: 5)
        #expect(followed.now() == Fixtures.date("2026-02-28T10:01:05Z"))
        let again = try await TestStore.open(rate: .real, in: folder, base: base)
        async let later: Void = followed.sleep(until: Fixtures.date("2026-03-01T00:00:00Z"))
        link.handler.withLock { $0 = again.store.handler }
        try await again.advance(.months(1))
        try await later
        #expect(followed.now() == again.store.clock.now())
        await followed.stop()
        await again.store.close()
    }

    @Test func `the error has the URL of a clock that cannot be reached`() async throws {
        let followed = SimulatorClock(url: "http://store.test/", transport: SwitchedTransport(), base: ManualClock())
        let failure = await #expect(throws: StoreFailure.self) { try await followed.start() }
        #expect(failure?.code == .unreachable)
        #expect(failure?.reason.contains("http://store.test/control/v1/clock") == true)
    }
}

/// A transport to a handler that a test can set and remove.
final class SwitchedTransport: HTTPTransport {
    let handler = Locked<(any HTTPHandler)?>(nil)
    /// The URLs of the requests while the handler was absent.
    let refused = CallLog<String>()

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        guard let handler = handler.withLock({ $0 }) else {
            refused.record(request.url)
            throw HTTPError(.connectionFailed, "No handler is set.")
        }
        return try await InProcessTransport(handler).send(request)
    }
}
