import Foundation
import HTTPCore
import Primitives
import StoreModel
import Testing

@testable import Purchases

/// The HTTP form of each request.
@Suite struct PaymentsHTTPRequestTests {
    private let user: JSONValue = ["type": "merchant-str", "value": "ada"]
    private let id = UUID(uuidString: "7E3FB20B-4CDB-47CC-936D-99D65F608138") ?? UUID()

    @Test func `a request for all subscriptions has no ids, and one for some has theirs`() async throws {
        let all = try PaymentsHTTPRequest.getSubscriptions(.init(customerId: .string("ada")))
            .httpRequest(environment: nil)
        #expect(try await all.body.json() == ["customerId": user])
        let some = try PaymentsHTTPRequest.getSubscriptions(.init(customerId: .string("ada"), onlyIds: [id]))
            .httpRequest(environment: nil)
        #expect(try await some.body.json() == ["customerId": user, "onlyIds": [.string(id.uuidString)]])
        #expect(some.method == .post && some.url == "/subscriptions-tracker/get-subscriptions")
        #expect(some.headers == ["Content-Type": "application/json"])
    }

    @Test func `an environment is a header`() throws {
        let request = try PaymentsHTTPRequest.getFeatures(.init(customerId: .string("ada")))
            .httpRequest(environment: .sandbox)
        #expect(request.headers["Souk-Environment"] == "sandbox")
        #expect(request.url == "/feature-provisioner/get-features")
    }
}
