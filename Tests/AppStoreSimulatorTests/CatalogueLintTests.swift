import Foundation
import Primitives
import StoreModel
import Testing

@testable import AppStoreSimulator

struct CatalogueLintTests {
    /// A change in the catalogue of one format version, and the finding that it causes. `place` is the pointer of the
    /// finding, by default the pointer of the change.
    struct Fault: Sendable {
        var text: String
        var pointer: String
        var value: JSONValue?
        var code: CatalogueFinding.Code
        var severity: CatalogueFinding.Severity
        var place: String

        init(
            _ text: String, _ pointer: String, _ value: JSONValue?, _ code: CatalogueFinding.Code,
            _ severity: CatalogueFinding.Severity = .warning, at place: String? = nil
        ) {
            self.text = text
            self.pointer = pointer
            self.value = value
            self.code = code
            self.severity = severity
            self.place = place ?? pointer
        }
    }

    private static let subscription = "/subscriptionGroups/0/subscriptions/0"
    private static let code = subscription + "/codeOffers/0"
    private static let promotional = subscription + "/adHocOffers/0"
    private static let winBack = subscription + "/winbackOffers/0"

    private static let faults: [Fault] = {
        typealias Of = CatalogueFixtures
        return [
            Fault(Of.version2, "/settings/_timeRate", 14, .unknownTimeRate),
            Fault(Of.version2, "/settings/_timeRate", "fast", .unknownTimeRate),
            Fault(Of.version2, "/settings/_storeKitError", 5, .unknownError),
            Fault(Of.version2, "/settings/_storeKitError", "bad", .unknownError),
            Fault(Of.version2, "/settings/_askToBuyEnabled", 1, .wrongShape),
            Fault(Of.version2, "/settings/_storefront", 276, .wrongShape, .error),
            Fault(Of.version2, "/subscriptionOffersKeyPair", "key", .wrongShape),
            Fault(Of.version2, "/subscriptionOffersKeyPair/id", nil, .wrongShape, at: "/subscriptionOffersKeyPair"),
            Fault(Of.version2, "/products/0/type", "Consumable", .notShareable, at: "/products/0/familyShareable"),
            Fault(Of.version2, "/products/0/localizations", "de", .wrongShape, .error),
            Fault(Of.version2, "/products/0/localizations/0/locale", nil, .missingField),
            Fault(Of.version3, "/settings/_storeKitErrors", true, .wrongShape),
            Fault(Of.version3, "/settings/_storeKitErrors/0/name", "Gift", .unknownAPI),
            Fault(Of.version3, "/settings/_storeKitErrors/1/name", "Load Products", .unknownAPI),
            Fault(Of.version3, "/settings/_storeKitErrors/1/name", nil, .missingField),
            Fault(Of.version3, "/settings/_storeKitErrors/0/current", "all", .wrongShape),
            Fault(Of.version4, "/appPolicies", [], .wrongShape),
            Fault(Of.version12, code + "/eligibility/0", "vip", .unknownEligibility),
            Fault(Of.version12, code + "/eligibility/0", 1, .wrongShape, .error),
            Fault(Of.version12, code + "/eligibility", [], .unknownEligibility),
            Fault(Of.version12, code + "/subscriptionPeriod", "soon", .badPeriod, .error),
            Fault(Of.version12, code + "/paymentMode", "payUpFront", .missingField, .error, at: code + "/displayPrice"),
            Fault(Of.version12, code + "/paymentMode", "barter", .unknownPaymentMode),
            Fault(Of.version12, code, "spring", .wrongShape, .error),
            Fault(Of.version12, subscription + "/recurringSubscriptionPeriod", "P5M", .unusualPeriod),
            Fault(Of.version12, subscription + "/subscriptionGroupID", "other", .groupMismatch),
            Fault(Of.version3, promotional + "/offerID", nil, .missingField, .error),
            Fault(Of.version3, promotional + "/offerID", "", .missingField, .error),
            Fault(Of.version3, promotional + "/numberOfPeriods", 0, .badCount, .error),
            Fault(Of.version3, promotional + "/displayPrice", "5 €", .badPrice, .error),
            Fault(Of.version3, promotional + "/subscriptionPeriod", "P1W", .offerPeriod),
            Fault(Of.version3, promotional + "/internalID", "33S", .duplicateInternalID),
            Fault(Of.version3, subscription + "/groupNumber", 1.5, .badCount, .error),
            Fault(Of.version4, winBack + "/displayPrice", "-1", .badPrice, .error),
            Fault(Of.version4, winBack + "/isEligible", "yes", .wrongShape),
            Fault(Of.version5, subscription + "/billingPlans/0/displayPrice", "59.00", .planPrice),
            Fault(Of.version5, subscription + "/billingPlans/1/displayPrice", nil, .missingField, .error),
            Fault(Of.version5, subscription + "/billingPlans/1/commitmentDisplayPrice", "?", .badPrice, .error),
            Fault(Of.version5, subscription + "/billingPlans/1/billingPlanType", "DAILY", .unknownBillingPlan),
            Fault(Of.version5, subscription + "/billingPlans/1", 1, .wrongShape, .error),
            Fault(
                Of.version5, subscription + "/introductoryOffers/1/billingPlanType", "MONTHLY", .duplicateOffer,
                at: subscription + "/introductoryOffers/1"),
        ]
    }()

    @Test(arguments: faults)
    func `each fault causes one finding with the file, the pointer and a reason`(fault: Fault) throws {
        var text = JSONText(Array(fault.text.utf8))
        let isDone = text.set(try #require(JSONPointer.steps(fault.pointer)), to: fault.value)
        try #require(isDone)
        let findings = Catalogue.lint(text.bytes, file: "shop.storekit")
        #expect(findings.map(\.code) == [fault.code] && findings.map(\.severity) == [fault.severity], "\(findings)")
        #expect(findings.map(\.pointer) == [fault.place])
        #expect(findings.allSatisfy { $0.file == "shop.storekit" && $0.reason.count > 15 })
    }

    @Test func `a duplicate offer is found among promotional offers, offer codes and win-back offers`() throws {
        for (text, list) in [
            (CatalogueFixtures.version3, "adHocOffers"), (CatalogueFixtures.version12, "codeOffers"),
            (CatalogueFixtures.version4, "winbackOffers"),
        ] {
            var offers = try #require(JSONValue(parsing: text).at("\(Self.subscription)/\(list)/0"))
            offers["internalID"] = nil
            var twice = JSONText(Array(text.utf8))
            let isDone = twice.set(try #require(JSONPointer.steps("\(Self.subscription)/\(list)/1")), to: offers)
            try #require(isDone)
            let findings = Catalogue.lint(twice.bytes, file: "f")
            #expect(findings.map(\.code) == [.duplicateOffer], "\(list)")
            #expect(findings.map(\.pointer) == ["\(Self.subscription)/\(list)/1"])
        }
    }

    @Test func `a missing level is found if the group has another product`() throws {
        var document = try JSONValue(parsing: CatalogueFixtures.version1)
        var other = try #require(document.at(Self.subscription))
        other["productID"] = "club.yearly"
        other["internalID"] = nil
        other["groupNumber"] = nil
        document.apply(["subscriptionGroups", "0", "subscriptions", "1"], other)
        let findings = Catalogue.lint(document.encoded(), file: "f")
        #expect(findings.map(\.code) == [.missingLevel])
        #expect(findings.map(\.pointer) == ["/subscriptionGroups/0/subscriptions/1/groupNumber"])
    }

    @Test func `a reason is short and contains no control characters, whatever the file contains`() throws {
        let loud = String(repeating: "very ", count: 1000) + "long"
        for type in ["\u{1B}[2J\u{7}", loud] {
            var document = try JSONValue(parsing: CatalogueFixtures.version2)
            document.apply(["products", "0", "type"], .string(type))
            let reasons = Catalogue.lint(document.encoded(), file: "f").filter { $0.code != .noProducts }.map(\.reason)
            #expect(reasons.count == 1)
            #expect(reasons.allSatisfy { $0.count <= 301 && !$0.contains("\u{1B}") && !$0.contains("\u{7}") })
        }
    }

    @Test func `a key for offers is read, and its description does not contain the private key`() throws {
        let catalogue = try CatalogueFixtures.catalogue(CatalogueFixtures.version2)
        let key = try #require(catalogue.offersKey)
        #expect(key.id == "0FFE12AB" && key.privateKey == "not a key")
        var dumped = ""
        dump(key, to: &dumped)
        for text in ["\(key)", String(reflecting: key), dumped] { #expect(!text.contains("not a key")) }
    }

    /// Checks that each finding points to an existing value, or to a missing member of an existing value.
    private static func check(_ findings: [CatalogueFinding], _ document: JSONValue?) {
        for finding in findings {
            #expect(finding.file == "fuzz" && !finding.reason.isEmpty)
            guard let document, let steps = JSONPointer.steps(finding.pointer) else { continue }
            let parent = steps.dropLast().map { "/" + JSONPointer.escaped($0) }.joined()
            #expect(document.at(finding.pointer) != nil || document.at(parent) != nil, "\(finding)")
        }
    }

    @Test(arguments: CatalogueFixtures.byVersion)
    func `a randomly edited document is refused or works`(version: String, text: String) throws {
        var numbers = CatalogueNumbers(state: UInt64(version.count) + UInt64(text.utf8.count))
        var accepted = 0
        for _ in 0..<250 {
            var document = try JSONValue(parsing: text)
            for _ in 0..<Int.random(in: 1...3, using: &numbers) {
                guard let (steps, value) = document.randomEdit(using: &numbers) else { continue }
                document.apply(steps[...], value)
            }
            let bytes = JSONText(xcode: document).bytes
            Self.check(Catalogue.lint(bytes, file: "fuzz"), document)
            guard let catalogue = try? Catalogue(parsing: bytes, file: "fuzz") else { continue }
            accepted += 1
            #expect(catalogue.encoded() == bytes)
            #expect(catalogue.storeProducts.count == catalogue.items.count)
            #expect(
                try catalogue.changingSettings { $0.asksToBuy.toggle() }.settings.asksToBuy
                    != catalogue.settings.asksToBuy)
        }
        #expect(accepted > 20, "Nearly every document was refused, so the test checks little.")
    }

    @Test(arguments: CatalogueFixtures.byVersion)
    func `randomly damaged bytes are refused exactly if the findings contain an error`(version: String, text: String) {
        var numbers = CatalogueNumbers(state: UInt64(text.utf8.count))
        let original = Array(text.utf8)
        for _ in 0..<250 {
            var bytes = original
            for _ in 0..<Int.random(in: 1...4, using: &numbers) {
                let index = Int.random(in: 0..<bytes.count, using: &numbers)
                switch Int.random(in: 0..<4, using: &numbers) {
                case 0: bytes[index] = .random(in: .min ... .max, using: &numbers)
                case 1: bytes.remove(at: index)
                case 2:
                    bytes.insert(contentsOf: Array("9e9\"[{-0.".utf8).shuffled(using: &numbers).prefix(3), at: index)
                default: bytes.removeSubrange(index..<min(bytes.count, index + 40))
                }
                if bytes.isEmpty { bytes = original }
            }
            let findings = Catalogue.lint(bytes, file: "fuzz")
            Self.check(findings, try? JSONValue(parsing: bytes))
            let isRefused = (try? Catalogue(parsing: bytes, file: "fuzz")) == nil
            #expect(isRefused == findings.contains { $0.severity == .error })
        }
    }
}
