import BaseTestSupport
import Foundation
import Primitives
import StoreModel
import Testing

@Suite struct IdentifierTests {
    @Test func `a UUID in any case is the same customer`() throws {
        let upper = try #require(CustomerID(rawValue: "7E3FB20B-4CDB-47CC-936D-99D65F608138"))
        #expect(upper == CustomerID(rawValue: "7e3fb20b-4cdb-47cc-936d-99d65f608138"))
        #expect(upper.appAccountToken == UUID(uuidString: "7e3fb20b-4cdb-47cc-936d-99d65f608138"))
        #expect(CustomerID(rawValue: "Ada") != CustomerID(rawValue: "ada"))
    }

    @Test(arguments: [
        "", "a\u{1}", "a\nb", "\u{7F}", "\u{80}", "a\u{85}b", "\u{9F}", String(repeating: "x", count: 256),
    ])
    func `an identifier that is empty, too long or has a control character is refused`(text: String) {
        #expect(CustomerID(rawValue: text) == nil)
        #expect(throws: DecodingError.self) { try JSONValue.string(text).decode(ProductID.self) }
    }

    @Test(arguments: ["\u{A0}", "é", "\u{FF}", "日本", "\u{180}", "👩‍👩‍👧", String(repeating: "x", count: 255)])
    func `an identifier in any script is kept as it is`(text: String) {
        #expect(CustomerID(rawValue: text)?.rawValue == text)
    }

    @Test func `a bundle id is made of letters, digits, hyphens and periods`() {
        for text in ["com.example.Darkroom-2", "a", String(repeating: "x", count: 155)] {
            #expect(BundleID(rawValue: text)?.rawValue == text)
        }
        for text in [
            "", "com.example_app", "com example", "com.exämple", "*", "a\n", String(repeating: "x", count: 156),
        ] {
            #expect(BundleID(rawValue: text) == nil)
            #expect(throws: DecodingError.self) { try JSONValue.string(text).decode(BundleID.self) }
        }
        #expect(BundleID(unchecked: "com.example_app").rawValue == "com.example_app")
    }

    @Test func `a name-based UUID is that of RFC 9562`() {
        let dns = UUID(uuidString: "6ba7b810-9dad-11d1-80b4-00c04fd430c8") ?? UUID()
        let expected = UUID(uuidString: "2ED6657D-E927-568B-95E1-2665A8AEA6A2")
        #expect(UUID(namespace: dns, name: "www.example.com") == expected)
    }

    @Test func `the account token of a customer id is stable and unique`() {
        #expect(CustomerID("ada").appAccountToken == CustomerID("ada").appAccountToken)
        #expect(CustomerID("ada").appAccountToken != CustomerID("bob").appAccountToken)
    }
}

@Suite struct SubscriptionPeriodTests {
    @Test(arguments: ["P3D", "P1W", "P1M", "P6M", "P1Y", "PT5M", "PT30S", "PT1H"])
    func `a period is read and written`(text: String) {
        #expect(SubscriptionPeriod(iso8601: text)?.iso8601 == text)
    }

    @Test(arguments: ["", "P", "1M", "P0M", "P-1M", "P1Q", "P1M2D", "PM", "P1.5M", "PT1D", "P99999Y"])
    func `a text that is not one period is refused`(text: String) {
        #expect(SubscriptionPeriod(iso8601: text) == nil)
    }

    @Test func `months are counted from the start and keep the day of the month`() throws {
        let start = try #require(RFC3339.date(from: "2026-01-31T10:00:00Z"))
        #expect(RFC3339.string(from: SubscriptionPeriod.months(1).end(from: start)) == "2026-02-28T10:00:00Z")
        #expect(RFC3339.string(from: SubscriptionPeriod.months(1).end(from: start, count: 2)) == "2026-03-31T10:00:00Z")
        #expect(RFC3339.string(from: SubscriptionPeriod.weeks(2).end(from: start)) == "2026-02-14T10:00:00Z")
    }

    @Test func `months before a date end on the last day of a shorter month`() throws {
        for (start, count, end) in [("2074-10-30", -176, "2060-02-29"), ("3318-03-30", -145, "3306-02-28")] {
            let instant = try #require(RFC3339.date(from: start + "T11:19:25Z"))
            let found = SubscriptionPeriod.months(1).end(from: instant, count: count)
            #expect(RFC3339.string(from: found) == end + "T11:19:25Z")
        }
    }

    @Test func `months and years are added as the calendar of Foundation adds them`() {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        var random = SeededNumbers(state: 28)
        for _ in 0..<20_000 {
            // From the year 1 to 5000, to a millisecond. The Gregorian calendar begins in 1582.
            let milliseconds = Int64.random(in: -62_135_596_800_000...95_617_584_000_000, using: &random)
            let start = Date(timeIntervalSince1970: Double(milliseconds) / 1000)
            let count = Int.random(in: 0...300, using: &random)
            for (period, unit) in [(SubscriptionPeriod.months(1), Calendar.Component.month), (.years(1), .year)] {
                let end = period.end(from: start, count: count)
                let expected = calendar.date(byAdding: unit, value: count, to: start)
                #expect(expected.map { abs($0.timeIntervalSince(end)) < 0.000_5 } == true, "\(start) \(count) \(unit)")
            }
        }
    }
}

@Suite struct PriceTests {
    @Test func `milliunits become a decimal and go back`() {
        #expect(Price(milliunits: 4990, currency: "USD").amount == Decimal(string: "4.99"))
        #expect(Price(amount: 10.99, currency: "USD").milliunits == 10990)
    }

    @Test func `an amount is a decimal string in JSON`() throws {
        let price = Price(milliunits: 4990, currency: "EUR")
        #expect(try JSONValue(encoding: price) == ["amount": "4.99", "currency": "EUR"])
        #expect(throws: DecodingError.self) {
            try JSONValue.object(["amount": "cheap", "currency": "EUR"]).decode(Price.self)
        }
    }
}

@Suite struct CustomerWireTests {
    @Test func `a customer answer has the members of the HTTP contract`() throws {
        let now = Date(timeIntervalSince1970: 1_763_649_600)
        let customer = Customer(
            customer: "ada", environment: .sandbox, asOf: now, validUntil: now.addingTimeInterval(60),
            subscriptions: [
                CustomerSubscription(
                    productID: "pro", originalTransactionID: "1", state: .active, startedAt: now, expiresAt: now,
                    effectiveUntil: now)
            ])
        let answer = PostTransactionsAnswer(customer: customer, acknowledgedTransactionIDs: ["1"])
        let bytes = try WireJSON.encode(answer)
        let json = try JSONValue(parsing: bytes)
        #expect(json["asOf"] == "2025-11-20T14:40:00Z")
        #expect(json["managementURL"] == .null)
        #expect(json["subscriptions"]?[0]?["revokedAt"] == .null)
        #expect(json["acknowledgedTransactionIDs"] == ["1"])
        #expect(try WireJSON.decode(PostTransactionsAnswer.self, from: bytes) == answer)
    }
}
