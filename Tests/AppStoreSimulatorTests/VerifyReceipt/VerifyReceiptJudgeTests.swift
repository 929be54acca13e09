import Foundation
import HTTPCore
import HostTestSupport
import NetworkTestSupport
import Primitives
import StoreKitAdapter
import StoreModel
import Testing

@testable import AppStoreSimulator

/// Requests of inapppy to this store, with its blocking and its asynchronous client. inapppy is a library for app
/// servers that use Apple's endpoint.
@Suite(.outsideJudge(OutsideJudge.python != nil, "SOUK_PYTHON names no interpreter with inapppy"))
struct VerifyReceiptJudgeTests {
    /// Returns the result of inapppy for each request.
    private static func judge(
        _ handler: any HTTPHandler, _ questions: [JSONValue]
    ) async throws -> [JSONValue] {
        try await withLoopbackServer(handler) { url in
            let verdict = try await OutsideJudge.judge(
                "inapppy_receipt.py",
                [
                    "production": .string(url + "/verifyReceipt"), "sandbox": .string(url + "/sandbox/verifyReceipt"),
                    "questions": .array(questions),
                ])
            #expect(verdict.status == 0, "\(verdict.errors)")
            let verdicts = try #require(verdict.json?.arrayValue)
            #expect(verdicts.count == questions.count)
            return verdicts
        }
    }

    @Test func `inapppy accepts the receipts of every kind of purchase`() async throws {
        try await TestStore.with { test in
            let client = try await ReceiptClient(test)
            var questions: [JSONValue] = [["receipt": .string(try await client.receipt())]]
            for product in ["coins", "pack", "pass", "monthly", "paygo"] as [ProductID] {
                try await test.buy(product)
                try await test.advance(.months(1))
                let receipt = JSONValue.string(try await client.receipt())
                questions += [["receipt": receipt], ["receipt": receipt, "excludeOld": true]]
            }
            let verdicts = try await Self.judge(test.store.handler, questions)
            for (question, verdict) in zip(questions, verdicts) {
                #expect(verdict["ok"] == true, "\(verdict)")
                let mine = try await client.verify(
                    try #require(question["receipt"]?.stringValue),
                    ["exclude-old-transactions": question["excludeOld"] ?? false])
                for part in ["receipt", "latest_receipt_info", "pending_renewal_info"] {
                    #expect(verdict["answer"]?[part] == mine[part])
                }
            }
            #expect(verdicts.last?["answer"]?.all("latest_receipt_info").count == 5)
        }
    }

    @Test func `inapppy follows a sandbox receipt from the production address to the sandbox`() async throws {
        try await TestStore.with { test in
            let client = try await ReceiptClient(test)
            try await test.buy("monthly")
            try await test.store.set(.sharedSecret, to: "5ec4e7")
            try await test.store.set(.verifyReceiptEnvironment, to: "production")
            let receipt = JSONValue.string(try await client.receipt())
            let production = JSONValue.string(
                Base64.encode(
                    try client.signer().sign(
                        .init(receiptType: "Production", bundleID: "com.example.souk", creationDate: Fixtures.start))))
            let verdicts = try await Self.judge(
                test.store.handler,
                [
                    ["receipt": receipt, "secret": "5ec4e7", "follow": true],
                    ["receipt": receipt, "secret": "5ec4e7"],
                    ["receipt": receipt, "secret": "5ec4e7", "sandbox": true],
                    ["receipt": receipt, "secret": "wrong", "follow": true],
                    ["receipt": receipt, "follow": true],
                    // The sandbox redirects the client to production, which does not have the account.
                    ["receipt": production, "sandbox": true, "follow": true],
                    ["receipt": production, "sandbox": true],
                ])
            #expect(verdicts.map { $0["ok"] } == [true, false, true, false, false, false, false])
            #expect(
                verdicts.map { $0["error"]?.stringValue } == [
                    nil, "Sandbox receipt was sent to the production env", nil, "Shared secret mismatch",
                    "Shared secret mismatch", "The user account cannot be found or has been deleted",
                    "Production receipt was sent to the sandbox env",
                ])
            #expect(verdicts[0]["answer"]?["environment"] == "Sandbox")
        }
    }

    @Test func `inapppy recognizes every status that the store can inject`() async throws {
        try await TestStore.with { test in
            let receipt = JSONValue.string(try await ReceiptClient(test).receipt())
            let names = [
                "21002": "Bad data", "21003": "Receipt authentication", "21004": "Shared secret mismatch",
                "21005": "Server is unavailable", "21006": "Subscription has expired",
                "21007": "Sandbox receipt was sent to the production env",
                "21008": "Production receipt was sent to the sandbox env", "21009": "Internal data access error",
                "21010": "The user account cannot be found or has been deleted", "21199": "Unknown API status",
            ]
            #expect(Set(names.keys) == Set(ReceiptStatus.injectable.map { "\($0.rawValue)" }))
            let statuses = names.keys.sorted()
            let asked = Locked(0)
            let handler = AnyHTTPHandler { [store = test.store] request in
                .suspended {
                    let number = asked.withLock { asked in
                        defer { asked += 1 }
                        return asked / 2
                    }
                    _ = try? await store.set(.verifyReceiptErrors, to: .string(statuses[number]))
                    return await store.handler.respond(to: request).response()
                }
            }
            let verdicts = try await Self.judge(handler, statuses.map { _ in ["receipt": receipt] })
            for (status, verdict) in zip(statuses, verdicts) {
                #expect(verdict["ok"] == false && verdict["error"]?.stringValue == names[status])
                #expect(verdict["answer"]?["status"]?.intValue == Int(status))
            }
        }
    }
}
