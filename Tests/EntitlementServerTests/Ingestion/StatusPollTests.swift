import BaseTestSupport
import Foundation
import HTTPCore
import Primitives
import SQLStorage
import SignedData
import StoreModel
import StoreTestSupport
import Testing

@testable import EntitlementServer

/// An App Store whose answers about subscription statuses are scripted, one after another.
final class ScriptedStatusTransport: HTTPTransport {
    typealias Answer = @Sendable () async throws -> JSONValue

    private let state = Locked<(answers: [Answer], asked: [String])>(([], []))

    /// The transaction ids of the requests, in order.
    var asked: [String] { state.withLock { $0.asked } }

    func answer(_ answer: @escaping Answer) { state.withLock { $0.answers.append(answer) } }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        let answer = state.withLock { state -> Answer? in
            state.asked.append(request.url.split(separator: "/").last.map(String.init) ?? "")
            return state.answers.isEmpty ? nil : state.answers.removeFirst()
        }
        guard let answer else {
            Issue.record("unexpected \(request.method) \(request.url)")
            throw HTTPError(.connectionFailed, "No answer is scripted for this request.")
        }
        return HTTPResponse(json: try await answer())
    }

    /// Creates a bench whose server polls subscription statuses of the sandbox over this transport.
    func bench(
        _ environments: [StoreEnvironment] = [.sandbox], beside other: ServerBench? = nil,
        wrapping wrap: ((any SQLDatabase) -> any SQLDatabase)? = nil
    ) async throws -> ServerBench {
        try await .polling(self, environments, beside: other, wrapping: wrap)
    }
}

extension ServerBench {
    /// Creates a bench whose server polls subscription statuses of the sandbox over `network`.
    fileprivate static func polling(
        _ network: any HTTPTransport, _ environments: [StoreEnvironment] = [.sandbox], beside other: ServerBench? = nil,
        wrapping wrap: ((any SQLDatabase) -> any SQLDatabase)? = nil
    ) async throws -> ServerBench {
        var client = AppStoreServerAPIClient.Configuration(
            key: AppStoreConnectKey(
                try SigningKey.generate(), id: "KEY", issuerID: "issuer", bundleID: ServerBench.app),
            baseURL: "http://store.test")
        client.backoff = .none
        let appStore = AppStoreServerAPIClient(configuration: client, transport: network)
        return try await ServerBench(
            environments: environments, folder: other?.folder, keys: other?.keys ?? [:],
            configure: {
                $0.apps[0].appStore = [.sandbox: appStore]
                $0.console = .loopback
                guard let other else { return }
                ($0.clock, $0.realClock, $0.monotonicClock) = (other.clock, other.realClock, other.realClock.monotonic)
            }, wrapping: wrap)
    }

    /// Returns the App Store's answer that a subscription was renewed until 30 days from now.
    func renewed(_ original: String = "1") throws -> JSONValue {
        let last: JSONValue = [
            "originalTransactionId": .string(original), "status": 1,
            "signedTransactionInfo": .string(try period("\(original)2", of: original)),
            "signedRenewalInfo": .string(try renewalInfo(of: original)),
        ]
        return [
            "environment": "Sandbox", "bundleId": .string(Self.app.rawValue),
            "data": [["subscriptionGroupIdentifier": "group", "lastTransactions": [last]]],
        ]
    }

    /// Polls the App Store until no subscription is due.
    fileprivate func pollAll() async throws {
        // In a ledger of several servers a read writes nothing. There the sweeper finds the end of a subscription.
        let sweeper = try #require(service.jobs.first { $0.name == "sweeper" })
        while try await sweeper.step() {}
        try await numberEvents()
        let statusPoller = try #require(service.statusPoller)
        while try await statusPoller.step() {}
    }
}

@Suite(.onBothEngines) struct StatusPollTests {
    @Test func `a receipt with an ended subscription is answered with its current status`() async throws {
        let appStore = ScriptedStatusTransport()
        let bench = try await appStore.bench()
        let receipt = try bench.receipt([bench.receiptPurchase("1")])
        #expect(try await bench.validate(receipt).validation().customer?.features.map(\.isActive) == [true])
        #expect(appStore.asked == [])
        bench.clock.advance(by: 31 * 86400)
        appStore.answer { try bench.renewed() }
        let validation = try await bench.validate(receipt).validation()
        #expect(validation.customer?.features.map(\.isActive) == [true])
        #expect(validation.customer?.subscriptions.first?.autoRenews == true)
        _ = try await bench.validate(receipt)
        #expect(appStore.asked == ["1"])
        await bench.close()
    }

    @Test func `a concurrent caller waits for the poll in progress`() async throws {
        let appStore = ScriptedStatusTransport()
        let box = RecorderBox()
        let bench = try await appStore.bench(wrapping: box.wrap)
        let ledger = try #require(box.database)
        let receipt = try bench.receipt([bench.receiptPurchase("1")])
        _ = try await bench.validate(receipt)
        bench.clock.advance(by: 31 * 86400)
        ledger.reset()
        appStore.answer {
            // After this check the caller polls without a suspension, on the same actor.
            try await until("all callers have checked whether the subscription has ended") {
                ledger.statements.count { $0.sql.contains("max(signed_at)") } == 8
            }
            return try bench.renewed()
        }
        try await withThrowingTaskGroup(of: ReceiptValidation.self) { group in
            for _ in 0..<8 { group.addTask { try await bench.validate(receipt).validation() } }
            for try await validation in group {
                #expect(validation.customer?.features.map(\.isActive) == [true])
            }
        }
        #expect(appStore.asked == ["1"])
        await bench.close()
    }

    @Test func `a failed poll changes nothing, and is repeated after five minutes`() async throws {
        let appStore = ScriptedStatusTransport()
        let bench = try await appStore.bench()
        let receipt = try bench.receipt([bench.receiptPurchase("1")])
        bench.clock.advance(by: 31 * 86400)
        appStore.answer { throw HTTPError(.connectionFailed, "The network is down.") }
        let validation = try await bench.validate(receipt).validation()
        #expect(validation.isValid && validation.customer?.subscriptions.first?.state == .expired)
        #expect(bench.failures.withLock { $0.count } == 1)
        _ = try await bench.validate(receipt)
        #expect(appStore.asked.count == 1)
        bench.realClock.advance(by: StatusPoller.pause)
        appStore.answer { try bench.renewed() }
        #expect(try await bench.validate(receipt).validation().customer?.features.map(\.isActive) == [true])
        await bench.close()
    }

    @Test func `a forged response of the App Store does not become a fact`() async throws {
        let appStore = ScriptedStatusTransport()
        let bench = try await appStore.bench()
        let receipt = try bench.receipt([bench.receiptPurchase("1")])
        bench.clock.advance(by: 31 * 86400)
        appStore.answer {
            let forged = try bench.sign(bench.purchasePayload("1"), by: ServerBench.foreignChain)
            return ["data": [["lastTransactions": [["signedTransactionInfo": .string(forged)]]]]]
        }
        #expect(try await bench.validate(receipt).validation().isValid)
        #expect(try bench.count("fact") == 1 && bench.failures.withLock { $0.count } == 1)
        await bench.close()
    }

    @Test func `a subscription that ends without a notification is polled, and reads do not wait`() async throws {
        let appStore = ScriptedStatusTransport()
        let bench = try await appStore.bench()
        try await bench.pollAll()
        _ = try await bench.post(bench.period("1"))
        try await bench.pollAll()
        bench.clock.advance(by: 31 * 86400)
        #expect(try await bench.get().active() == [])
        #expect(appStore.asked == [])
        appStore.answer { try bench.renewed() }
        try await bench.pollAll()
        #expect(appStore.asked == ["1"])
        #expect(try await bench.get().active() == ["pro"])
        await bench.close()
    }

    @Test func `due polls survive a restart`() async throws {
        let appStore = ScriptedStatusTransport()
        let bench = try await appStore.bench()
        try await bench.pollAll()
        _ = try await bench.post(bench.period("1"))
        bench.clock.advance(by: 31 * 86400)
        _ = try await bench.get()
        appStore.answer { throw HTTPError(.connectionFailed, "The network is down.") }
        await #expect(throws: AppStoreServerAPIError.self) { try await bench.pollAll() }
        await bench.close()
        let next = try await appStore.bench(beside: bench)
        try await next.pollAll()
        #expect(appStore.asked.count == 1)
        bench.realClock.advance(by: StatusPoller.pause)
        appStore.answer { try bench.renewed() }
        try await next.pollAll()
        #expect(try await next.get().active() == ["pro"])
        #expect(appStore.asked.count == 2)
        _ = try await next.post(next.period("7"), for: "ben")
        bench.clock.advance(by: 31 * 86400)
        bench.realClock.advance(by: StatusPoller.pause)
        appStore.answer { try next.renewed() }
        appStore.answer { try next.renewed("7") }
        try await next.pollAll()
        #expect(appStore.asked.count == 4)
        bench.realClock.advance(by: StatusPoller.pause)
        _ = try await next.post(next.period("8"), for: "zoe")
        bench.clock.advance(by: 40 * 86400)
        for _ in 0..<3 { appStore.answer { ["data": []] } }
        try await next.pollAll()
        let old = bench.realClock.now().addingTimeInterval(-StatusPoller.pause).milliseconds
        let ages = try next.database.read { connection in
            try connection.query("SELECT asked_at FROM status_pull").map { try $0["asked_at"] as Int64 }
        }
        #expect(!ages.isEmpty && ages.allSatisfy { $0 > old }, "\(ages)")
        await next.close()
    }

    @Test func `of two servers, one polls the status of a subscription`() async throws {
        guard ServerBench.engine == .postgreSQL else { return }
        let appStore = ScriptedStatusTransport()
        let first = try await appStore.bench()
        let second = try await appStore.bench(beside: first)
        let receipt = try first.receipt([first.receiptPurchase("1")])
        _ = try await first.validate(receipt)
        first.clock.advance(by: 31 * 86400)
        appStore.answer { try first.renewed() }
        async let one = first.validate(receipt)
        async let other = second.validate(receipt)
        _ = try await (one, other)
        for bench in [first, second] { try await bench.pollAll() }
        #expect(appStore.asked == ["1"])
        #expect(try second.count("fact") == 3)
        await first.close()
        await second.close()
    }

    @Test func `the background job repeats a failed poll`() async throws {
        let appStore = ScriptedStatusTransport()
        let bench = try await appStore.bench()
        try await bench.pollAll()
        _ = try await bench.post(bench.period("1"))
        bench.clock.advance(by: 31 * 86400)
        _ = try await bench.get()
        appStore.answer { throw HTTPError(.connectionFailed, "The network is down.") }
        await #expect(throws: AppStoreServerAPIError.self) { try await bench.pollAll() }
        try await bench.pollAll()
        #expect(appStore.asked.count == 1)
        bench.realClock.advance(by: StatusPoller.pause)
        appStore.answer { try bench.renewed() }
        try await bench.pollAll()
        #expect(try await bench.get().active() == ["pro"])
        await bench.close()
    }

    @Test(arguments: FaultyTransport.Fault.allCases)
    func `whichever poll fails, the next round updates both subscriptions`(fault: FaultyTransport.Fault)
        async throws
    {
        for call in 1...2 {
            let answers = Locked<[String: JSONValue]>([:])
            let store = AnyHTTPHandler { request in
                let asked = request.url.split(separator: "/").last.map(String.init) ?? ""
                return .ready(HTTPResponse(json: answers.withLock { $0[asked] ?? .null }))
            }
            let network = FaultyTransport(InProcessTransport(store), fault, atCall: call)
            let bench = try await ServerBench.polling(network)
            func round() async throws -> Int {
                var failures = 0
                while true {
                    do { try await bench.pollAll() } catch is AppStoreServerAPIError {
                        failures += 1
                        continue
                    }
                    return failures
                }
            }
            #expect(try await round() == 0)
            for (customer, id) in [("anna", "1"), ("ben", "5")] {
                _ = try await bench.post(bench.period(id), for: customer)
            }
            bench.clock.advance(by: 31 * 86400)
            for customer in ["anna", "ben"] { #expect(try await bench.get(customer).active() == []) }
            let renewed = ["1": try bench.renewed("1"), "5": try bench.renewed("5")]
            answers.withLock { $0 = renewed }

            #expect(try await round() == 1)
            let known = [try await bench.get("anna").active(), try await bench.get("ben").active()]
            #expect(known == (call == 1 ? [[], ["pro"]] : [["pro"], []]))
            #expect(try bench.count("fact") == 4)
            bench.realClock.advance(by: StatusPoller.pause)
            #expect(try await round() == 0)
            for customer in ["anna", "ben"] { #expect(try await bench.get(customer).active() == ["pro"]) }
            #expect(try bench.count("fact") == 6 && network.calls == 3)
            await bench.close()
        }
    }

    @Test func `subscriptions with later facts and other purchases are not polled`() async throws {
        let appStore = ScriptedStatusTransport()
        let bench = try await appStore.bench([.sandbox, .production])
        try await bench.pollAll()
        _ = try await bench.post([
            bench.period("1"), bench.purchase("3"), bench.period("4") { $0.environment = .production },
        ])
        bench.clock.advance(by: 31 * 86400)
        _ = try await bench.post([], renewals: [bench.renewalInfo(renews: false)])
        _ = try await bench.notify(bench.notification(renewal: bench.renewalInfo(renews: false)))
        _ = try await bench.get()
        _ = try await bench.get(headers: ["Souk-Environment": "production"])
        try await bench.pollAll()
        #expect(appStore.asked == [])
        await bench.close()
    }

    @Test func `a server without a client of the App Store does not poll`() async throws {
        let bench = try await ServerBench()
        #expect(bench.service.statusPoller == nil)
        await bench.close()
    }
}
