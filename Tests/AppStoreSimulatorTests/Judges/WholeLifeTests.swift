import Foundation
import HostTestSupport
import Primitives
import SignedData
import StoreModel
import Testing

@testable import AppStoreSimulator

/// Apple's own client library verifies the documents that the store signs in a `WholeLife`.
@Suite(.outsideJudge(OutsideJudge.python != nil, "SOUK_PYTHON is not set"))
struct WholeLifeTests {
    @Test func `Apple's verifier accepts and decodes every signed document of a whole life`()
        async throws
    {
        let catalogue = try Catalogue(parsing: Array(WholeLife.catalogueText.utf8), file: "life.storekit")
        try await TestStore.with(change: { $0.catalogue = catalogue }) { test in
            let life = try await WholeLife.live(in: test.store)
            let documents = [
                "transaction": life.transactions, "renewal": life.renewals, "appTransaction": life.appTransactions,
            ]
            var request: [String: JSONValue] = documents.mapValues { .array($0.map { .string($0.jws) }) }
            request["root"] = .string(test.store.summary.rootCertificate)
            request["bundleID"] = .string(test.store.summary.bundleID.rawValue)
            request["environment"] = "Sandbox"
            let verdict = try await OutsideJudge.judge("apple_verifier.py", .object(request))
            #expect(verdict.status == 0, "\(verdict.errors)")
            let answer = try #require(verdict.json)
            for (name, documents) in documents {
                let judged = try #require(answer[name]?.arrayValue)
                #expect(judged.count == documents.count && !documents.isEmpty)
                for (document, judgement) in zip(documents, judged) {
                    #expect(judgement["ok"] == true, "\(name) after \(document.event): \(judgement)")
                    try Self.compare(document, judgement["payload"])
                }
            }
            try Self.expectEveryEvent(life)
        }
    }

    /// Expects that Apple's library decodes every signed member with the same name and value.
    private static func compare(_ document: WholeLife.Document, _ read: JSONValue?) throws {
        let read = try #require(read)
        for (name, value) in try payload(of: document) {
            guard let theirs = read[name] else {
                Issue.record("after \(document.event) Apple's library does not know \(name): \(value)")
                continue
            }
            // In an object, Apple's library also has the raw value of each enumeration.
            for (member, value) in value.objectValue ?? [:] {
                #expect(theirs[member] == value, "after \(document.event): \(name)/\(member)")
            }
            if value.objectValue == nil { #expect(theirs == value, "after \(document.event): \(name)") }
        }
    }

    static func payload(of document: WholeLife.Document) throws -> [String: JSONValue] {
        let parts = document.jws.split(separator: ".")
        let bytes = try #require(parts.count == 3 ? Base64.decodeURL(String(parts[1])) : nil)
        return try #require(try JSONValue(parsing: bytes).objectValue)
    }

    /// Expects that the documents contain every kind of event.
    private static func expectEveryEvent(_ life: WholeLife) throws {
        let sold = try life.transactions.map(payload)
        let renewals = try life.renewals.map(payload)
        func values(_ name: String, _ payloads: [[String: JSONValue]]) -> Set<JSONValue> {
            Set(payloads.compactMap { $0[name] })
        }
        #expect(values("offerType", sold) == [1, 2, 3, 4])
        #expect(values("offerDiscountType", sold) == ["FREE_TRIAL", "PAY_AS_YOU_GO", "PAY_UP_FRONT", "ONE_TIME"])
        #expect(values("inAppOwnershipType", sold) == ["PURCHASED", "FAMILY_SHARED"])
        #expect(values("transactionReason", sold) == ["PURCHASE", "RENEWAL"])
        #expect(values("isUpgraded", sold).contains(true))
        #expect(values("revocationReason", sold) == [0, 1])
        #expect(values("expirationIntent", renewals) == [1, 2, 4])
        #expect(values("priceIncreaseStatus", renewals) == [0, 1])
        #expect(values("autoRenewStatus", renewals) == [0, 1])
        #expect(values("isInBillingRetryPeriod", renewals).contains(true))
        #expect(renewals.contains { $0["gracePeriodExpiresDate"] != nil })
        #expect(renewals.contains { $0["eligibleWinBackOfferIds"] != nil })
    }
}
