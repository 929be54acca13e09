import Foundation
import Primitives
import StoreModel
import Testing

@testable import AppStoreSimulator

struct CatalogueRoundTripTests {
    private typealias Fixtures = CatalogueFixtures

    @Test(arguments: CatalogueFixtures.byVersion)
    func `a catalogue is written back byte for byte`(version: String, text: String) throws {
        let catalogue = try Fixtures.catalogue(text)
        #expect(String(decoding: catalogue.encoded(), as: UTF8.self) == text)
        #expect(JSONText(xcode: catalogue.document).bytes == Array(text.utf8))
        #expect(try Catalogue(document: catalogue.document, file: "test.storekit") == catalogue)
    }

    @Test(.enabled(if: ConformanceCatalogueTests.folder != nil, "SOUK_CONFORMANCE names no folder"))
    func `catalogues that Xcode wrote are written back byte for byte`() throws {
        let folder = try #require(ConformanceCatalogueTests.folder) + "/storekit"
        let names = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".storekit") }
        try #require(!names.isEmpty)
        for name in names {
            let bytes = Array(try Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(name)")))
            let catalogue = try Catalogue(parsing: bytes, file: name)
            #expect(catalogue.encoded() == bytes)
            #expect(JSONText(xcode: catalogue.document).bytes == bytes)
        }
    }

    @Test func `escapes, numbers, white space and the order of names are kept`() throws {
        let text = """
            \t{"version":{"minor":0 ,"major":3.0e0},  "settings" :{"_lastSynchronizedDate" : 654321987.10299996,
              "_timeRate":0.0},\r\n"products":[ {"type":"Consumable","productID":"\\u0061\\/b","displayPrice":1.50,
            "later":{"z":[1e2 , -0.0],"a":null}} ]}  \n\n
            """
        let catalogue = try Fixtures.catalogue(text)
        #expect(catalogue.items.map(\.id) == ["a/b"] && catalogue.items.first?.price.amount == 1.5)
        #expect(String(decoding: catalogue.encoded(), as: UTF8.self) == text)
        let changed = try catalogue.replacing("/products/0/displayPrice", with: "2.25")
        let expected = text.replacingOccurrences(of: "1.50", with: "\"2.25\"")
        #expect(String(decoding: changed.encoded(), as: UTF8.self) == expected)
        #expect(changed.items.first?.price.amount == 2.25)
    }

    @Test func `a change of settings changes only their lines`() throws {
        let catalogue = try Fixtures.catalogue(Fixtures.version2)
        let changed = try catalogue.changingSettings {
            $0.asksToBuy = false
            $0.timeRate = .init(rawValue: 1005)
            $0.transactionError = .invalidOfferPrice
        }
        #expect(!changed.settings.asksToBuy && changed.settings.timeRate.simulated?.description == "2s")
        let expected = Fixtures.version2
            .replacingOccurrences(of: "\"_askToBuyEnabled\" : true", with: "\"_askToBuyEnabled\" : false")
            .replacingOccurrences(of: "\"_timeRate\" : 15", with: "\"_timeRate\" : 1005")
            .replacingOccurrences(of: "\"_storeKitError\" : 12", with: "\"_storeKitError\" : 14")
        #expect(String(decoding: changed.encoded(), as: UTF8.self) == expected)
        #expect(try catalogue.changingSettings { $0.asksToBuy = true }.encoded() == catalogue.encoded())
    }

    @Test func `a new setting is written where Xcode would write it, also in a file without settings`() throws {
        let catalogue = try Fixtures.catalogue(Fixtures.version3)
        let changed = try catalogue.changingSettings {
            $0.asksToBuy = true
            $0.locale = "ja_JP"
        }
        let names = ["_askToBuyEnabled", "_failTransactionsEnabled", "_locale", "_storefront", "_storeKitErrors"]
        guard case .object(let members) = try #require(changed.document["settings"]) else {
            Issue.record("The settings are not an object.")
            return
        }
        #expect(members.keys == names + ["_timeRate"])
        #expect(JSONText(xcode: changed.document).bytes == changed.encoded())

        let bare = try Fixtures.catalogue(#"{"products":[],"version":{"major":4,"minor":0}}"#)
        let filled = try bare.changingSettings { $0.failsRenewals = true }
        #expect(
            String(decoding: filled.encoded(), as: UTF8.self)
                == #"{"products":[],"settings":{"_renewalBillingIssuesEnabled":true},"version":{"major":4,"minor":0}}"#)
        let empty = try Fixtures.catalogue(Fixtures.version1).changingSettings { $0.storefront = "FRA" }
        #expect(empty.storefront.currency == "EUR")
        #expect(JSONText(xcode: empty.document).bytes == empty.encoded())
        let cleared = try empty.changingSettings { $0.storefront = nil }
        #expect(String(decoding: cleared.encoded(), as: UTF8.self) == Fixtures.version1)
    }

    @Test func `a simulated error is switched on in its place, and another one is appended`() throws {
        let catalogue = try Fixtures.catalogue(Fixtures.version3)
        let on = try catalogue.changingSettings {
            $0.simulatedErrors[1].isEnabled = true
            $0.simulatedErrors[1].error = .init(family: "purchase", index: 1)
            $0.simulatedErrors[0].error = nil
        }
        #expect(on.settings.failure(of: .purchase)?.error == .init(family: "purchase", index: 1))
        #expect(on.settings.failure(of: .loadProducts)?.error == nil)
        #expect(JSONText(xcode: on.document).bytes == on.encoded())
        let more = try on.changingSettings { $0.simulatedErrors.append(.init(api: .sync, isEnabled: true)) }
        #expect(more.settings.simulatedErrors.map(\.api) == [.loadProducts, .purchase, .sync])
        #expect(JSONText(xcode: more.document).bytes == more.encoded())
    }

    @Test func `members and elements are added and removed without another change`() throws {
        let catalogue = try Fixtures.catalogue(Fixtures.version3)
        let offer: JSONValue = [
            "internalID": "33Z", "offerID": "free", "paymentMode": "free", "subscriptionPeriod": "P1W",
        ]
        let pointer = try #require(catalogue["club.monthly"]).pointer
        let more = try catalogue.replacing("\(pointer)/adHocOffers/1", with: offer)
        #expect(more["club.monthly"]?.subscription?.promotionalOffers.map(\.id) == ["three", "free"])
        #expect(JSONText(xcode: more.document).bytes == more.encoded())
        #expect(try more.replacing("\(pointer)/adHocOffers/1", with: nil).encoded() == catalogue.encoded())
        let none = try more.replacing("\(pointer)/adHocOffers/0", with: nil)
            .replacing("\(pointer)/adHocOffers/0", with: nil)
        #expect(none["club.monthly"]?.promotionalOffers.isEmpty == true)
        #expect(JSONText(xcode: none.document).bytes == none.encoded())
        #expect(try catalogue.replacing("/nothing", with: nil).encoded() == catalogue.encoded())
    }

    @Test(arguments: ["/products/7", "/products/x", "/version/major/x", "/no/such", "no", "/products/00"])
    func `a change at a missing place is refused`(pointer: String) throws {
        let catalogue = try Fixtures.catalogue(Fixtures.version1)
        let error = try #require(throws: CatalogueError.self) { try catalogue.replacing(pointer, with: 1) }
        #expect(error.errors.map(\.code) == [.noSuchPlace] && error.errors.first?.pointer == pointer)
    }

    @Test func `a change that makes the catalogue invalid is refused`() throws {
        let catalogue = try Fixtures.catalogue(Fixtures.version1)
        let error = try #require(throws: CatalogueError.self) {
            try catalogue.replacing("/products/0/displayPrice", with: "free")
        }
        #expect(error.errors.map(\.code) == [.badPrice] && error.errors.first?.file == "test.storekit")
    }

    @Test func `a change keeps the rest of random documents in random styles`() throws {
        var numbers = CatalogueNumbers(state: 20_260_101)
        for round in 0..<300 {
            let document = JSONValue.randomObject(using: &numbers, depth: 4)
            let text = RandomJSONStyle(using: &numbers).write(document, using: &numbers)
            let parsed = try JSONValue(parsing: text)
            #expect(parsed == document)
            var edited = JSONText(Array(text.utf8))
            var expected = document
            for _ in 0..<6 {
                guard let (steps, value) = expected.randomEdit(using: &numbers) else { continue }
                let isDone = edited.set(steps, to: value)
                #expect(isDone, "round \(round): \(steps)")
                expected.apply(steps[...], value)
                let read = try #require(try? JSONValue(parsing: edited.bytes), "round \(round) broke the document")
                #expect(read == expected, "round \(round): \(steps)")
            }
        }
    }
}
