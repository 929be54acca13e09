import BaseTestSupport
import Foundation
import Primitives
import StoreModel
import Testing

@Suite struct IdentityTests {
    /// Compares two identifiers in every way, including generic code over `Hashable`.
    private static func areEqual<ID: Hashable>(_ left: ID, _ right: ID) -> Bool {
        left == right || !(left != right) || Set([left, right]).count == 1 || [left: 1][right] != nil
            || [left].contains(right) || left as ID? == right
    }

    private static func checkBytes<ID: Identifier>(_ type: ID.Type, _ pair: UnicodeForms) throws {
        let left = try #require(ID(rawValue: pair.composed), "\(type) \(pair)")
        let right = try #require(ID(rawValue: pair.other), "\(type) \(pair)")
        #expect(left != right && !(left == right) && !areEqual(left, right), "\(type) \(pair)")
        #expect((left < right) == Array(pair.composed.utf8).lexicographicallyPrecedes(Array(pair.other.utf8)))
        for id in [left, right] {
            let again = try JSONValue(encoding: id).decode(ID.self)
            #expect(again == id && again.hashValue == id.hashValue && again.rawValue.hasSameBytes(as: id.rawValue))
        }
    }

    /// Checks that one of two spellings is valid and that the other is refused, by the initialiser and by the decoder.
    private static func checkRefused<ID: Identifier>(_ type: ID.Type, _ pair: UnicodeForms) {
        #expect(ID(rawValue: pair.composed)?.rawValue == pair.composed, "\(type) \(pair)")
        #expect(ID(rawValue: pair.other) == nil, "\(type) \(pair)")
        #expect(throws: DecodingError.self, "\(type) \(pair)") { try JSONValue.string(pair.other).decode(ID.self) }
    }

    private static func check(_ pair: UnicodeForms) throws {
        try checkBytes(CustomerID.self, pair)
        try checkBytes(TransactionID.self, pair)
        try checkBytes(PaymentID.self, pair)
        checkRefused(ProductID.self, pair)
        #expect(BundleID(rawValue: pair.other) == nil)
        #expect(!areEqual(BundleID(unchecked: pair.composed), BundleID(unchecked: pair.other)))
        #expect(!areEqual(ProductID(unchecked: pair.composed), ProductID(unchecked: pair.other)))
        #expect(!areEqual(StoreEnvironment(rawValue: pair.composed), StoreEnvironment(rawValue: pair.other)))
        #expect(!areEqual(PurchaseSource(rawValue: pair.composed), PurchaseSource(rawValue: pair.other)))
        #expect(!areEqual(UserId.string(pair.composed), .string(pair.other)))
        #expect(
            !areEqual(
                CancellationToken(pluginName: "a", rawValue: pair.composed),
                CancellationToken(pluginName: "a", rawValue: pair.other)))
    }

    @Test(arguments: UnicodeForms.pairs)
    func `identifiers are compared by their bytes`(pair: UnicodeForms) throws { try Self.check(pair) }

    @Test func `two Unicode forms are two identifiers, and product ids have one form, for random strings`() throws {
        var numbers = SeededNumbers(state: 23)
        for _ in 0..<UnicodeForms.rounds(2000) {
            let pair = UnicodeForms.random(using: &numbers)
            guard pair.other.utf8.count <= 255, pair.composed.utf8.count <= 255 else { continue }
            try Self.check(pair)
        }
    }

    @Test(arguments: UnicodeForms.pairs)
    func `two Unicode forms of a customer id have two account tokens`(pair: UnicodeForms) {
        let (left, right) = (CustomerID(unchecked: pair.composed), CustomerID(unchecked: pair.other))
        #expect(left.appAccountToken != right.appAccountToken)
        #expect(
            UserId.string(pair.composed).customerID?.appAccountToken
                != UserId.string(pair.other).customerID?.appAccountToken)
    }

    @Test func `a UUID is one customer in any case, and text with other characters is not a UUID`() {
        let id = "7E3FB20B-4CDB-47CC-936D-99D65F608138"
        #expect(CustomerID(rawValue: id) == CustomerID(rawValue: id.lowercased()))
        #expect(CustomerID(rawValue: id)?.rawValue == id.lowercased())
        let other = id.replacing("F", with: "\u{FF26}")
        #expect(CustomerID(rawValue: other)?.rawValue.hasSameBytes(as: other) == true)
    }

    @Test func `a customer id is anonymous exactly if it has the prefix, compared by bytes`() {
        #expect(CustomerID("anonymous-1").isAnonymous)
        #expect(!CustomerID("Anonymous-1").isAnonymous)
        #expect(!CustomerID("anonymous").isAnonymous)
    }

    @Test(arguments: UnicodeForms.pairs)
    func `a feature file accepts only the normal form of a name`(pair: UnicodeForms) throws {
        #expect(try FeatureMap(json: ["features": [pair.composed: ["a"]]]).features.count == 1)
        for json: JSONValue in [
            ["features": [pair.other: ["a"]]], ["features": ["pro": [.string(pair.other)]]],
        ] {
            #expect(throws: FeatureMapError.self) { try FeatureMap(json: json) }
        }
        for json: JSONValue in [
            ["credits": [pair.other: ["products": [:], "prices": [:]]]],
            ["credits": ["coins": ["products": [pair.other: 1], "prices": [:]]]],
            ["credits": ["coins": ["products": [:], "prices": [pair.other: 1]]]],
        ] {
            #expect(throws: FeatureMapError.self) { try CreditTable(json: json) }
        }
        do {
            _ = try FeatureMap(json: ["features": ["pro": [.string(pair.other)]]])
        } catch let error as FeatureMapError {
            #expect(error.reason.contains("NFC"), "the message says what is wrong")
        }
    }

    @Test(arguments: UnicodeForms.pairs)
    func `purchases whose ids differ only in their Unicode form are two purchases`(pair: UnicodeForms) {
        var state = CustomerState()
        for id in [pair.composed, pair.other] {
            state.apply(
                TransactionFact(
                    id: TransactionID(unchecked: id), productID: "coins", kind: .consumable,
                    purchaseDate: Date(timeIntervalSince1970: 0), source: .web,
                    signedDate: Date(timeIntervalSince1970: 0), digest: Array(id.utf8)))
            state.apply(
                Grant(id: id, feature: "pro", from: Date(timeIntervalSince1970: 0), until: nil, reason: "support"))
        }
        let map = FeatureMap(features: ["rich": ["coins"]])
        let answer = EntitlementReducer(features: map).customer(
            "anna", in: .sandbox, state, at: Date(timeIntervalSince1970: 1))
        #expect(answer.purchases.count == 2)
        #expect(answer.features.count { $0.name == "rich" } == 2)
        #expect(answer.features.count { $0.name == "pro" } == 2)
    }
}
