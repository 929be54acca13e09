import AppStorePayloads
import Foundation
import HTTPCore
import Primitives
import StoreModel
import Testing

@testable import EntitlementServer

/// Whether a customer is eligible for offers.
@Suite(.onBothEngines) struct OfferEligibilityTests {
    private func introductory(_ answer: OfferEligibilityAnswer) -> [String: Bool] {
        Dictionary(
            uniqueKeysWithValues: answer.products.map { ($0.productID.rawValue, $0.introductoryOffer.isEligible) })
    }

    @Test func `an introductory offer of one product uses up those of its group`() async throws {
        let bench = try await OfferBench()
        let server = bench.server
        let new = try await bench.eligibility()
        #expect(introductory(new) == ["pro.monthly": true, "pro.yearly": true, "tools.monthly": true])
        #expect(new.products.allSatisfy { $0.promotionalOffers.allSatisfy { $0.reason == .neverSubscribed } })
        #expect(try server.count("customer") == 0)

        _ = try await server.post(server.period("1"))
        #expect(introductory(try await bench.eligibility()).values.allSatisfy { $0 })
        _ = try await server.post(server.period("2", of: "1") { $0.offerType = .promotional })
        #expect(introductory(try await bench.eligibility()).values.allSatisfy { $0 })
        server.clock.advance(by: 86400)
        _ = try await server.post(
            server.period("3", of: "1") {
                $0.offerType = .introductory
                $0.revocationDate = server.clock.now()
            })
        let used = try await bench.eligibility()
        #expect(introductory(used) == ["pro.monthly": false, "pro.yearly": false, "tools.monthly": true])
        #expect(used.products.first?.introductoryOffer.reason == .alreadyUsed)
        #expect(introductory(try await bench.eligibility(of: "ben")).values.allSatisfy { $0 })
        await bench.close()
    }

    @Test func `a family member's introductory offer does not count`() async throws {
        let bench = try await OfferBench()
        _ = try await bench.server.post(
            bench.server.period("1") {
                $0.offerType = .introductory
                $0.inAppOwnershipType = .familyShared
            })
        #expect(introductory(try await bench.eligibility()).values.allSatisfy { $0 })
        await bench.close()
    }

    @Test func `the answer agrees with the endpoint that signs`() async throws {
        let bench = try await OfferBench()
        _ = try await bench.server.post(bench.server.period("1"))
        for _ in 0..<2 {
            for product in try await bench.eligibility().products {
                for offer in product.promotionalOffers {
                    let reply = try await bench.ask(product.productID.rawValue, try #require(offer.offerID))
                    #expect((reply.status == 200) == offer.isEligible)
                    let detail = reply.json["detail"]?.stringValue ?? ""
                    #expect(offer.reason.map { detail.hasPrefix("\($0): ") } ?? true)
                }
            }
            bench.server.clock.advance(by: 31 * 86400)
        }
        await bench.close()
    }

    @Test func `one product can be asked about`() async throws {
        let bench = try await OfferBench()
        let answer = try await bench.eligibility("?productID=tools.monthly")
        #expect(answer.customer == "anna" && answer.environment == .sandbox)
        #expect(answer.asOf == bench.server.clock.now().wholeMillisecond)
        #expect(answer.products.map(\.productID) == ["tools.monthly"] && answer.products[0].groupID == "other")
        for name in ["x", "", "TOOLS.monthly", "tools.monthly%00"] {
            let reply = try await bench.server.send(.get, "/v1/customers/anna/offer-eligibility?productID=\(name)")
            #expect(reply.status == 404 && reply.code == "unknown_product", "\(reply.json.text())")
        }
        let broken = try await bench.server.send(.get, "/v1/customers/anna/offer-eligibility?productID=%")
        #expect(broken.status == 400)
        await bench.close()
    }

    @Test func `the past of a purchase that waited for the customer counts`() async throws {
        let bench = try await OfferBench()
        let customer = UUID().uuidString.lowercased()
        let signed = try bench.server.period("1") {
            $0.appAccountToken = UUID(uuidString: customer)
            $0.offerType = .introductory
        }
        _ = try await bench.server.post(signed, for: "ben")
        #expect(introductory(try await bench.eligibility(of: customer))["pro.monthly"] == false)
        #expect(try await bench.ask(for: customer).status == 200)
        await bench.close()
    }
}
