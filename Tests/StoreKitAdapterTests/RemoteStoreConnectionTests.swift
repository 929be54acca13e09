import BaseTestSupport
import Foundation
import HTTPCore
import Primitives
import StoreModel
import StoreTestSupport
import Testing

@testable import StoreKitAdapter

@Suite(.timeLimit(.minutes(2)))
struct RemoteStoreConnectionTests {
    /// A simulator whose responses a test scripts. A long poll without one waits.
    final class Simulator: HTTPTransport {
        typealias Answer = @Sendable (String, HTTPRequest) async throws -> HTTPResponse?

        /// The method and target of each request.
        let requests = CallLog<String>()
        let pauses = CallLog<Duration>()
        private let answer: Locked<Answer> = Locked { _, _ in nil }
        private let signIns = Locked(0)

        func answer(_ body: @escaping Answer) { answer.withLock { $0 = body } }

        func send(_ request: HTTPRequest) async throws -> HTTPResponse {
            let words = "\(request.method.rawValue) \(request.target)"
            requests.record(words)
            if let response = try await answer.withLock({ $0 })(words, request) { return response }
            if words == "POST /store/v1/devices" {
                let number = signIns.withLock { signIns in
                    signIns += 1
                    return signIns
                }
                return try .of(device("device \(number)"))
            }
            let parts = request.target.split(separator: "/")
            if request.method == .get, parts.count == 4 {
                return try .of(device(parts[3].replacingOccurrences(of: "%20", with: " ")))
            }
            if request.target.contains("/updates?") { try await Gate().pass() }
            return HTTPResponse(status: 200, json: [:])
        }

        func connect(account: String = "anna", pollWait: Duration = .seconds(20)) -> RemoteStoreConnection {
            RemoteStoreConnection(
                configuration: .init(
                    url: "http://store/", account: account, transport: self,
                    sleep: { [pauses] pause in
                        pauses.record(pause)
                        try Task.checkCancellation()
                        await letOthersRun()
                    }, pollWait: pollWait))
        }

        func count(_ words: String) -> Int { requests.all.filter { $0 == words }.count }
    }

    private static func device(_ id: String) -> StoreWire.Device {
        StoreWire.Device(deviceID: id, account: "anna", storefront: ScriptedStoreConnection.storefront)
    }

    static func sold(_ id: TransactionID) -> StoreWire.Update {
        .init(paymentID: "p", productID: "pack", state: "purchased", transaction: .of(id))
    }

    let simulator = Simulator()

    @Test func `concurrent requests share one sign-in`() async throws {
        let mayAnswer = Gate()
        simulator.answer { words, _ in
            if words == "POST /store/v1/devices" { try await mayAnswer.pass() }
            if words == "GET /store/v1/devices/device%201" { return try .of(Self.device("device 1")) }
            return nil
        }
        let connection = simulator.connect()
        let questions = (0..<8).map { _ in Task { try await connection.canMakePayments() } }
        let leaving = Task { try await connection.canMakePayments() }
        await simulator.requests.wait { !$0.isEmpty }
        leaving.cancel()
        await #expect(throws: CancellationError.self) { try await leaving.value }
        mayAnswer.open()
        for question in questions { #expect(try await question.value) }
        #expect(try await connection.storefront() == ScriptedStoreConnection.storefront)
        #expect(simulator.count("POST /store/v1/devices") == 1)
        await connection.close()
    }

    @Test func `a sign-in that failed is not remembered`() async throws {
        simulator.answer { words, _ in
            words.hasSuffix("/devices") ? .problem(404, "unknownAccount", "There is no account anna.") : nil
        }
        let session = DeviceSession(configuration: .init(url: "http://store", account: "anna", transport: simulator))
        await #expect(
            throws: StoreFailure(code: .init(rawValue: "unknownAccount"), reason: "There is no account anna.")
        ) {
            try await session.current()
        }
        simulator.answer { _, _ in nil }
        #expect(try await session.current() == Self.device("device 1"))
    }

    @Test func `a sign-in that fails after all its callers left is not remembered either`() async throws {
        let mayFail = Gate()
        simulator.answer { _, _ in
            try await mayFail.pass()
            throw HTTPError(.connectionFailed, "refused")
        }
        let session = DeviceSession(configuration: .init(url: "http://store", account: "anna", transport: simulator))
        let leaving = Task { try await session.current() }
        await simulator.requests.wait { !$0.isEmpty }
        leaving.cancel()
        await #expect(throws: CancellationError.self) { try await leaving.value }
        mayFail.open()
        try await until("the sign-in is forgotten") { await session.signIn == nil }
        simulator.answer { _, _ in nil }
        #expect(try await session.current().deviceID == "device 1")
    }

    @Test func `a request to a simulator that forgot the device is repeated with a new device`() async throws {
        simulator.answer { words, _ in
            if words.contains("/updates?") {
                // The listener has not yet received that device 1 is unknown.
                return words.contains("device%201") && !words.contains("after=")
                    ? try .of(StoreWire.Updates(updates: [], cursor: "7")) : nil
            }
            return words.contains("device%201") ? .problem(404, "unknownDevice", "There is no such device.") : nil
        }
        let connection = simulator.connect()
        await simulator.requests.wait { $0.contains { $0.contains("device%201/updates?wait=20.0&after=7") } }
        try await connection.finish("1")
        #expect(simulator.requests.all.contains("POST /store/v1/devices/device%202/transactions/1/finish"))
        await connection.close()
    }

    @Test func `an answer to one device does not count for another`() async throws {
        let isGone = Gate()
        simulator.answer { words, _ in
            guard words.contains("device%201") else { return nil }
            guard words.contains("/updates?") else {
                return .problem(404, "unknownDevice", "There is no such device.")
            }
            guard words.contains("after=") else { return try .of(StoreWire.Updates(updates: [], cursor: "7")) }
            // The response of the old simulator arrives when the device has a new id.
            try await isGone.pass()
            return try .of(StoreWire.Updates(updates: [], cursor: "8"))
        }
        let connection = simulator.connect()
        await simulator.requests.wait { $0.contains { $0.contains("after=7") } }
        try await connection.finish("1")
        isGone.open()
        await simulator.requests.wait { $0.contains { $0.contains("device%202/updates?") } }
        let first = simulator.requests.all.first { $0.contains("device%202/updates?") }
        #expect(first == "GET /store/v1/devices/device%202/updates?wait=20.0&storefront=143441")
        await connection.close()
    }

    @Test func `more products than fit a request line are requested in parts`() async throws {
        let asked = CallLog<[ProductID]>()
        simulator.answer { words, request in
            guard words.contains("/products?") else { return nil }
            #expect(words.utf8.count < 5000)
            let ids = request.target.split(separator: "?")[1].split(separator: "&").map {
                ProductID(unchecked: String($0.dropFirst("id=".count)))
            }
            asked.record(ids)
            return try .of(ProductAnswer(products: [], invalidProductIDs: ids))
        }
        let ids = Set((0..<1000).map { ProductID(unchecked: "com.example.darkroom.\($0)") })
        let connection = simulator.connect()
        #expect(Set(try await connection.products(ids).invalidProductIDs) == ids)
        #expect(asked.all.flatMap(\.self).count == 1000, "each is asked for once")
        await connection.close()
    }

    @Test func `updates come in order, each requested after the one before`() async throws {
        simulator.answer { words, _ in
            switch words {
            case "GET /store/v1/devices/device%201/updates?wait=0.5&storefront=143441":
                try .of(StoreWire.Updates(updates: [Self.sold("1"), Self.sold("2")], cursor: "7"))
            case "GET /store/v1/devices/device%201/updates?wait=0.5&after=7&storefront=143441":
                try .of(
                    StoreWire.Updates(
                        updates: [.init(productID: "pack", state: "of a later version"), Self.sold("3")], cursor: "9"))
            default: nil
            }
        }
        let connection = simulator.connect(pollWait: .milliseconds(500))
        var updates = connection.updates.makeAsyncIterator()
        for id in ["1", "2", "3"] {
            let update = try #require(await updates.next())
            #expect(update.state == .purchased(.of(TransactionID(unchecked: id))))
            #expect(update.paymentID == "p")
        }
        await simulator.requests.wait { $0.contains { $0.contains("after=9") } }
        await connection.close()
        #expect(await updates.next() == nil)
    }

    @Test func `storefronts and messages are sent when they change, and the next request names the last storefront`()
        async throws
    {
        let german = Storefront(countryCode: "DEU", id: "143443", locale: "de_DE", currency: "EUR")
        let consent = StoreMessage(id: "m", reason: .priceIncreaseConsent, productID: "plus")
        let hasListener = Gate()
        simulator.answer { words, _ in
            if words.contains("/updates?") { try await hasListener.pass() }
            return switch words {
            case "GET /store/v1/devices/device%201/updates?wait=20.0&storefront=143441":
                try .of(StoreWire.Updates(updates: [], cursor: "12-3 &", storefront: german, messages: [consent]))
            case "GET /store/v1/devices/device%201/updates?wait=20.0&after=12-3%20%26&storefront=143443":
                try .of(StoreWire.Updates(updates: [], cursor: "x", storefront: german, messages: []))
            case "GET /store/v1/devices/device%201/updates?wait=20.0&after=x&storefront=143443":
                try .of(StoreWire.Updates(updates: [Self.sold("1")], cursor: "y", storefront: german, messages: []))
            default: nil
            }
        }
        let connection = simulator.connect()
        var storefronts = connection.storefrontUpdates.makeAsyncIterator()
        #expect(await storefronts.next() == ScriptedStoreConnection.storefront)
        hasListener.open()
        #expect(await storefronts.next() == german)
        var updates = connection.updates.makeAsyncIterator()
        _ = await updates.next()
        var messages = connection.messages.makeAsyncIterator()
        #expect(await messages.next() == [], "only open messages are sent")
        await connection.close()
        #expect(await storefronts.next() == nil, "a storefront is reported once")
        #expect(await messages.next() == nil)
    }

    @Test func `an offer code and a reply to a message reach their device, and an unsupported request fails`()
        async throws
    {
        let bodies = CallLog<String>()
        simulator.answer { words, request in
            guard words.hasSuffix("/offer-codes") || words.contains("/messages/") else { return nil }
            bodies.record(words + " " + String(decoding: try await request.body.collect(upTo: 1000), as: UTF8.self))
            return words.hasSuffix("/gone")
                ? .problem(501, "unsupported", "Not built.") : HTTPResponse(status: 200, json: [:])
        }
        let connection = simulator.connect()
        try await connection.redeem(OfferCodeRedemption(code: "SUMMER"))
        try await connection.answer("a b", with: .decline)
        #expect(
            bodies.all == [
                #"POST /store/v1/devices/device%201/offer-codes {"code":"SUMMER"}"#,
                #"POST /store/v1/devices/device%201/messages/a%20b {"answer":"decline"}"#,
            ])
        await #expect(throws: StoreFailure(code: .unsupported, reason: "Not built.")) {
            try await connection.answer("gone", with: .show)
        }
        await #expect {
            try await connection.redeem(OfferCodeRedemption())
        } throws: {
            ($0 as? StoreFailure)?.code == .unsupported
        }
        await connection.close()
    }

    @Test func `owned transactions are read, not restored`() async throws {
        simulator.answer { words, _ in
            words == "GET /store/v1/devices/device%201/owned-transactions"
                ? try .of(StoreWire.Transactions(transactions: [ScriptedStoreConnection.transaction("1", "pack")]))
                : nil
        }
        let connection = simulator.connect()
        #expect(try await connection.ownedTransactions().map(\.id) == ["1"])
        await connection.close()
    }

    @Test func `after failures polling continues at its position, with growing pauses`() async throws {
        let failures = Locked(0)
        simulator.answer { words, _ in
            guard words.contains("/updates?") else { return nil }
            guard words.contains("after=") else {
                return try .of(StoreWire.Updates(updates: [Self.sold("1")], cursor: "7"))
            }
            let failure = failures.withLock { failures in
                failures += 1
                return failures
            }
            if failure > 9 {
                return words.contains("after=7") ? try .of(StoreWire.Updates(updates: [], cursor: "8")) : nil
            }
            if failure.isMultiple(of: 2) { throw HTTPError(.connectionFailed, "refused") }
            return HTTPResponse(status: 503)
        }
        let connection = simulator.connect()
        await simulator.requests.wait { $0.contains { $0.contains("after=8") } }
        #expect(simulator.pauses.all == [100, 200, 400, 800, 1600, 3200, 6400, 6400, 6400].map { .milliseconds($0) })
        #expect(simulator.count("POST /store/v1/devices") == 1)
        await connection.close()
    }

    @Test func `after the simulator forgot the device, the connection signs in again and polls from the start`()
        async throws
    {
        simulator.answer { words, _ in
            guard words.contains("/updates?") else { return nil }
            if words.contains("device%201"), words.contains("after=") {
                return .problem(404, "unknownDevice", "There is no such device.")
            }
            return words.contains("after=") ? nil : try .of(StoreWire.Updates(updates: [], cursor: "7"))
        }
        let connection = simulator.connect()
        await simulator.requests.wait { $0.contains { $0.contains("device%202/updates?wait=20.0&after=7") } }
        #expect(simulator.requests.all.contains("GET /store/v1/devices/device%202/updates?wait=20.0&storefront=143441"))
        #expect(simulator.count("POST /store/v1/devices") == 2)
        await connection.close()
    }

    @Test func `a refusal of the simulator is a failure with its code and reason`() async throws {
        let connection = simulator.connect()
        #expect(try await connection.canMakePayments())
        let cases: [(Result<HTTPResponse, any Error>, StoreFailure.Code)] = [
            (.success(.problem(404, "unknownTransaction", "Nobody sold it.")), .init(rawValue: "unknownTransaction")),
            (.success(HTTPResponse(status: 500)), .unknown),
            (.success(HTTPResponse(status: 502, body: .bytes(Array("<html>".utf8)))), .unknown),
            (.success(HTTPResponse(status: 200, body: .bytes(Array("{".utf8)))), .unknown),
            (.failure(HTTPError(.timeout, "late")), .unreachable),
            (.failure(HTTPError(.connectionFailed, "refused")), .unreachable),
        ]
        for (result, code) in cases {
            simulator.answer { words, _ in words.contains("/updates?") ? nil : try result.get() }
            await #expect {
                try await connection.finish("1/2")
            } throws: { error in
                (error as? StoreFailure)?.code == code && (error as? StoreFailure)?.reason.isEmpty == false
            }
        }
        #expect(simulator.requests.all.contains("POST /store/v1/devices/device%201/transactions/1%2F2/finish"))
        let cancellations: [any Error] = [HTTPError(.cancelled, ""), CancellationError()]
        for error in cancellations {
            simulator.answer { words, _ in
                if words.contains("/updates?") { return nil }
                throw error
            }
            await #expect(throws: CancellationError.self) { try await connection.restore() }
        }
        await connection.close()
    }

    @Test func `requests have the form that the simulator reads`() async throws {
        let payment = Payment(id: "p", productID: "pack", quantity: 2, offerID: "half")
        simulator.answer { words, request in
            switch words {
            case "GET /store/v1/devices/device%201/products?id=a%26b&id=c":
                try .of(ProductAnswer(products: [], invalidProductIDs: ["a&b", "c"]))
            case "POST /store/v1/devices/device%201/payments":
                try .of(
                    StoreWire.Accepted(
                        paymentID: WireJSON.decode(Payment.self, from: await request.body.collect(upTo: 1000)).id))
            case "POST /store/v1/devices/device%201/restore":
                try .of(StoreWire.Transactions(transactions: [.of("1")]))
            case "GET /store/v1/devices/device%201/receipt":
                try .of(StoreWire.Receipt(receipt: "AQI="))
            case "GET /store/v1/devices/device%201/app-transaction":
                try .of(StoreWire.AppTransaction(signedAppTransaction: "a.b.c"))
            default: nil
            }
        }
        let connection = simulator.connect()
        #expect(try await connection.products(["c", "a&b"]).invalidProductIDs == ["a&b", "c"])
        #expect(try await connection.products([]) == ProductAnswer(products: []))
        try await connection.add(payment)
        #expect(try await connection.restore() == [.of("1")])
        #expect(try await connection.receipt() == [1, 2])
        #expect(try await connection.appTransaction() == "a.b.c")
        #expect(simulator.requests.all.filter { $0.contains("/products") }.count == 1)
        await connection.close()
    }

    @Test func `a released connection stops polling`() async throws {
        var updates: AsyncStream<StoreUpdate>?
        do {
            let connection = simulator.connect()
            #expect(try await connection.canMakePayments())
            updates = connection.updates
        }
        if let updates { for await _ in updates {} }
    }

    @Test(arguments: [
        StoreUpdate.State.purchased(.of("1"), alreadyOwned: false), .purchased(.of("1"), alreadyOwned: true), .deferred,
        .failed(StoreFailure(code: .declined, reason: "no")), .revoked(.of("1")), .renewalChanged(.of("1")),
    ])
    func `every update survives encoding`(state: StoreUpdate.State) throws {
        let update = StoreUpdate(paymentID: "p", productID: "pack", state: state)
        let wire = try #require(StoreWire.Update(update))
        let read = try WireJSON.decode(StoreWire.Update.self, from: WireJSON.encode(wire))
        #expect(read.storeUpdate == update)
    }

    @Test func `an update that the wire cannot express is not encoded or decoded`() {
        #expect(StoreWire.Update(StoreUpdate(productID: "pack", state: .purchasing)) == nil)
        #expect(StoreWire.Update(productID: "pack", state: "purchased").storeUpdate == nil, "without its transaction")
        let reasonless = StoreWire.Update(productID: "pack", state: "failed").storeUpdate
        guard case .failed(let failure)? = reasonless?.state else {
            Issue.record("a failure without a reason is not decoded as a failure")
            return
        }
        #expect(failure.code == .unknown)
    }
}

extension HTTPResponse {
    static func of<Body: Encodable>(_ body: Body) throws -> HTTPResponse {
        HTTPResponse(
            status: 200, headers: ["Content-Type": "application/json"], body: .bytes(try WireJSON.encode(body)))
    }

    static func problem(_ status: Int, _ code: String, _ detail: String) -> HTTPResponse {
        HTTPResponse(
            status: status,
            json: [
                "type": .string("https://souk.invalid/problems/\(code)"), "title": "Refused",
                "status": .number(Int64(status)), "detail": .string(detail), "code": .string(code), "retryable": false,
            ])
    }
}
