import BaseTestSupport
import Foundation
import HTTPCore
import Primitives
import SQLStorage
import SignedData
import StoreKitAdapter
import StoreModel
import Testing

@testable import AppStoreSimulator

/// Each of Apple's statuses, and hostile bodies.
struct VerifyReceiptStatusTests {
    @Test(arguments: [.get, .put, .patch, .delete, .options, "NONSENSE"] as [HTTPRequest.Method])
    func `a request other than POST has the status 21000, with the HTTP status 200`(method: HTTPRequest.Method)
        async throws
    {
        try await TestStore.with { test in
            let client = try await ReceiptClient(test)
            #expect(try await client.status("", method: method) == 21000)
            #expect(try await client.status("", method: method, to: "/sandbox/verifyReceipt?a=b") == 21000)
        }
    }

    private static let hostile = [
        "", " ", "null", "7", "[]", "\"receipt-data\"", "{", "{}", #"{"receipt-data":"AAAA"}"#,
        #"{"receipt-data":7}"#, #"{"receipt-data":null}"#, #"{"receipt-data":[]}"#, #"{"receipt-data":""}"#,
        #"{"receipt-data":"not base64"}"#, #"{"receipt-data":"MIIB"}"#, #"{"receipt-data":"MA=="}"#,
        #"{"receipt-data":"0"}"#, #"{"Receipt-Data":"MIIB"}"#, #"{"receipt-data":"A","receipt-data":"A"}"#,
        "receipt-data=MIIB", "\u{0}", "{\"receipt-data\":\"\u{0}\"}",
        String(repeating: "[", count: 100_000), String(repeating: #"{"receipt-data":"#, count: 10_000),
        #"{"receipt-data":"\#(String(repeating: "A", count: 1 << 20))"}"#,
        #"{"receipt-data":"\#(Base64.encode([0x30, 0x84, 0x7F, 0xFF, 0xFF, 0xFF]))"}"#,
        #"{"receipt-data":"\#(Base64.encode([0x30, 0x80] + [UInt8](repeating: 0x30, count: 1000)))"}"#,
    ]

    @Test func `a body that Apple does not document is 21002`() async throws {
        try await TestStore.with { test in
            let client = try await ReceiptClient(test)
            for body in Self.hostile { #expect(try await client.status(body) == 21002, "\(body.prefix(80))") }
            #expect(ReceiptClient.status(of: try await client.send([0xFF, 0xFE, 0x00])) == 21002)
            let receipt = try await client.receipt()
            for more in [
                ["password": 7], ["password": []], ["exclude-old-transactions": "true"],
                ["exclude-old-transactions": 1],
            ] as [JSONMembers] {
                #expect(ReceiptClient.status(of: try await client.verify(receipt, more)) == 21002, "\(more)")
            }
            // Apple allows white space in base64, and unknown members.
            let lines = receipt.enumerated().map { $0.offset % 64 == 63 ? "\($0.element)\r\n" : "\($0.element)" }
            #expect(try await client.verify(lines.joined(), ["more": ["a": 1]])["status"] == 0)
        }
    }

    @Test func `a body longer than every receipt is 21002, and the store continues`() async throws {
        try await TestStore.with { test in
            let client = try await ReceiptClient(test)
            let huge = [UInt8](repeating: UInt8(ascii: "A"), count: VerifyReceiptRequest.longestBody + 1)
            #expect(ReceiptClient.status(of: try await client.send(huge)) == 21002)
            _ = try await client.verify()
        }
    }

    @Test func `a changed, cut or extended receipt is refused`() async throws {
        try await TestStore.with { test in
            let client = try await ReceiptClient(test)
            try await test.buy("monthly")
            let receipt = try await test.store.receipt(of: client.device)
            var met: Set<Int> = []
            for place in stride(from: 0, to: receipt.count, by: 7) {
                var changed = receipt
                changed[place] ^= 1
                let status = ReceiptClient.status(of: try await client.verify(Base64.encode(changed)))
                met.insert(try #require(status))
            }
            #expect(met == [21002, 21003])
            for count in [1, 100, receipt.count - 1] {
                let cut = try await client.verify(Base64.encode(receipt.prefix(count)))
                #expect(ReceiptClient.status(of: cut) == 21002)
            }
            let longer = try await client.verify(Base64.encode(receipt + [0]))
            #expect(ReceiptClient.status(of: longer) == 21002)
        }
    }

    @Test func `foreign receipts are 21003: another store's, another app's, a development machine's, an old one`()
        async throws
    {
        try await TestStore.with { test in
            let client = try await ReceiptClient(test)
            try await TestStore.with { other in
                let theirs = try await ReceiptClient(other).receipt()
                #expect(ReceiptClient.status(of: try await client.verify(theirs)) == 21003)
            }
            let signer = try client.signer()
            func status(_ change: (inout AppReceipt) -> Void) async throws -> Int? {
                var receipt = AppReceipt(
                    receiptType: "ProductionSandbox", bundleID: "com.example.souk", creationDate: Fixtures.start)
                change(&receipt)
                return ReceiptClient.status(of: try await client.verify(Base64.encode(try signer.sign(receipt))))
            }
            #expect(try await status { $0.bundleID = "com.example.other" } == 21003)
            #expect(try await status { $0.bundleID = nil } == 21003)
            #expect(try await status { $0.receiptType = "Xcode" } == 21003)
            #expect(try await status { $0.receiptType = nil } == 21003)
            #expect(try await status { $0.creationDate = nil } == 21003)
            // This receipt is signed by the store, but names no account of it.
            #expect(try await status { _ in } == 21010)
            let legacy = Array(#"{ "signature" = "AAAA"; "purchase-info" = "AAAA"; }"#.utf8)
            #expect(ReceiptClient.status(of: try await client.verify(Base64.encode(legacy))) == 21003)
        }
    }

    @Test func `a production receipt at the sandbox is 21008, a sandbox receipt at production 21007`() async throws {
        try await TestStore.with { test in
            let client = try await ReceiptClient(test)
            let sandbox = try await client.receipt()
            for type in ["Production", "ProductionVPP"] {
                let bytes = try client.signer().sign(
                    AppReceipt(receiptType: type, bundleID: "com.example.souk", creationDate: Fixtures.start))
                let answer = try await client.verify(Base64.encode(bytes))
                #expect(ReceiptClient.status(of: answer) == 21008 && answer["environment"] == "Sandbox")
            }
            try await test.store.set(.verifyReceiptEnvironment, to: "production")
            let refusal = try await client.verify(sandbox, ["password": "whatever"])
            #expect(ReceiptClient.status(of: refusal) == 21007 && refusal["environment"] == "Production")
            #expect(refusal["is-retryable"] == false && refusal["is_retryable"] == false)
            // The sandbox URL of status 21007 stays available.
            let body = JSONValue.object(["receipt-data": .string(sandbox)]).encoded()
            let found = try await client.send(body, to: "/sandbox/verifyReceipt")
            #expect(found["status"] == 0 && found["environment"] == "Sandbox")
            try await test.store.set(.verifyReceiptEnvironment, to: "sandbox")
            #expect(try await client.verify(sandbox)["status"] == 0)
        }
    }

    @Test func `a shared secret is required for receipts with subscriptions, and a wrong one is refused for all`()
        async throws
    {
        try await TestStore.with { test in
            let client = try await ReceiptClient(test)
            let empty = try await client.receipt()
            try await test.buy("monthly")
            let full = try await client.receipt()
            #expect(try await client.verify(full, ["password": "nobody asks"])["status"] == 0)
            let set = try await test.store.set(.sharedSecret, to: "5ec4e7")
            for (receipt, password, status) in [
                (full, nil, 21004), (full, "", 21004), (full, "5ec4e8", 21004), (full, "5EC4E7", 21004),
                (full, "5ec4e7", 0), (empty, nil, 0), (empty, "5ec4e7", 0), (empty, "wrong", 21004),
                // The listed value is not the secret.
                (full, set.value, 21004),
            ] as [(String, JSONValue?, Int)] {
                let answer = try await client.verify(receipt, password.map { ["password": $0] } ?? [:])
                #expect(answer["status"]?.intValue == status, "\(password ?? nil)")
                if status != 0 { #expect(ReceiptClient.status(of: answer) == status) }
            }
            try await test.store.set(.sharedSecret, to: "")
            #expect(try await client.verify(full)["status"] == 0)
        }
    }

    @Test func `a shared secret cannot be read back`() async throws {
        let folder = try ScratchFolder()
        var known: JSONValue = nil
        try await TestStore.with(in: folder) { test in
            let kept = try await test.store.set(.sharedSecret, to: "0123456789abcdef")
            #expect(kept.value.stringValue?.hasPrefix("sha256:") == true)
            let listed = try test.store.settings().first { $0.name == "sharedSecret" }
            #expect(listed == kept)
            known = kept.value
            #expect(!(try await test.store.exportState().text().contains("0123456789abcdef")))
            #expect(try await test.store.set(.sharedSecret, to: known).value == known)
            for value in ["a\nb", "\u{85}", .string(String(repeating: "a", count: 256)), 7, true] as [JSONValue] {
                let error = await #expect(throws: SimulatorError.self) {
                    try await test.store.set(.sharedSecret, to: value)
                }
                #expect(error?.code == .invalidValue)
            }
        }
        try await TestStore.with(in: folder) { test in
            #expect(try test.store.settings().first { $0.name == "sharedSecret" }?.value == known)
            let client = try await ReceiptClient(test)
            #expect(try await client.verify(["password": "0123456789abcdef"])["status"] == 0)
        }
    }

    @Test func `a receipt of an account that is no longer in the database is 21010`() async throws {
        try await TestStore.with { test in
            let before = try await test.store.exportState()
            let client = try await ReceiptClient(test)
            try await test.buy("monthly")
            let receipt = try await client.receipt()
            let after = try await test.store.exportState()
            try await test.store.importState(before)
            #expect(ReceiptClient.status(of: try await client.verify(receipt)) == 21010)
            try await test.store.importState(after)
            #expect(try await client.verify(receipt)["status"] == 0)
        }
    }

    @Test func `every injectable status is returned, and an error shows whether it is retryable`() async throws {
        try await TestStore.with { test in
            let client = try await ReceiptClient(test)
            try await test.buy("monthly")
            let receipt = try await client.receipt()
            let asked = [21002, 21003, 21004, 21005, 21006, 21007, 21008, 21009, 21010, 21199]
            for status in asked {
                try await test.store.set(.verifyReceiptErrors, to: .number(status))
                let answer = try await client.verify(receipt)
                #expect(answer["status"]?.intValue == status)
                guard status != 21006 else {
                    #expect(answer.all("latest_receipt_info").count == 1 && answer["is-retryable"] == nil)
                    #expect(ReceiptClient.status(of: try await client.verify("AAAA")) == 21002)
                    continue
                }
                #expect(ReceiptClient.status(of: answer) == status)
                let isRetryable = [21005, 21009, 21199].contains(status)
                #expect(answer["is-retryable"] == .bool(isRetryable) && answer["is_retryable"] == .bool(isRetryable))
            }
            for value in [0, 21000, 21001, "x"] as [JSONValue] {
                await #expect(throws: SimulatorError(.invalidValue, "")) {
                    try await test.store.set(.verifyReceiptErrors, to: value)
                }
            }
            try await test.store.set(.verifyReceiptErrors, to: "off")
            #expect(try await client.verify(receipt)["status"] == 0)
        }
    }

    @Test func `a store that cannot read its database returns Apple's internal error`() async throws {
        try await TestStore.with { test in
            let client = try await ReceiptClient(test)
            let receipt = try await client.receipt()
            await test.store.close()
            let answer = try await client.verify(receipt)
            #expect(ReceiptClient.status(of: answer) == 21009 && answer["is-retryable"] == true)
        }
    }

    @Test func `a response during concurrent purchases has the state of one instant`() async throws {
        try await TestStore.with(rate: .real, base: ManualClock()) { test in
            let client = try await ReceiptClient(test)
            try await test.buy("weekly")
            let receipt = try await client.receipt()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { for _ in 0..<20 { try await test.buy("coins") } }
                for _ in 0..<4 {
                    group.addTask {
                        var seen = 0
                        for _ in 0..<10 {
                            let answer = try await client.verify(receipt)
                            let latest = try #require(Base64.decode(answer["latest_receipt"]?.stringValue ?? ""))
                            let count = answer.all("latest_receipt_info").count
                            let made = try test.store.receiptVerifier.verify(latest).receipt
                            #expect(made.inAppPurchases.count == count && count >= seen)
                            seen = count
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await client.verify(receipt).all("latest_receipt_info").count == 21)
        }
    }
}
