import Foundation
import Primitives
import StoreModel
import Testing

@testable import InAppStore

/// The errors and warnings in a list that can be read.
struct ProductListLintTests {
    private struct Expected: Equatable, CustomStringConvertible {
        let severity: ProductListFinding.Severity
        let pointer: String
        var description: String { "\(severity) \(pointer)" }
    }

    private func lint(
        _ text: String, _ rules: ProductListRules = ProductListRules()
    ) throws -> [ProductListFinding] {
        let (list, findings) = ProductList.lint(Array(text.utf8), file: "list.json", rules: rules)
        _ = try #require(list, "\(findings)")
        return findings
    }

    private func entry(_ id: String, _ type: String = "nonConsumable", _ more: String = "") -> String {
        #"{"identifier": "\#(id)", "productType": "\#(type)"\#(more.isEmpty ? "" : ", \(more)")}"#
    }

    private func content(_ parameters: String) -> String {
        "[\(entry("a", "nonConsumable", "\"contentFetcherParameters\": \(parameters)"))]"
    }

    @Test(arguments: [
        (#""isSubscribersOnly": true"#, "nonConsumable", "/0/isSubscribersOnly", "no customer can get it"),
        (#""isSubscribersOnly": true"#, "renewableSubscription", "/0/isSubscribersOnly", "no customer could buy it"),
        (
            #""contentFetcherParameters": {"type": "RemotContentFetcher", "URL": "https://a/b"}"#, "nonConsumable",
            "/0/contentFetcherParameters/type", "Did you mean \"RemoteContentFetcher\"?"
        ),
        (
            #""contentFetcherParameters": {"type": "RemoteContentFetcher"}"#, "nonConsumable",
            "/0/contentFetcherParameters/URL", "needs the URL"
        ),
        (
            #""contentFetcherParameters": {"type": "BZRRemoteContentFetcher", "URL": "ftp://a/b.zip"}"#,
            "nonConsumable", "/0/contentFetcherParameters/URL", "https: or http:"
        ),
        (
            #""contentFetcherParameters": {"type": "RemoteContentFetcher", "URL": "http://example.com/b.zip"}"#,
            "nonConsumable", "/0/contentFetcherParameters/URL", "https: only"
        ),
        (
            #""contentFetcherParameters": {"type": "RemoteContentFetcher", "URL": "https://a/b", "size": "1"}"#,
            "nonConsumable", "/0/contentFetcherParameters/size", "number of bytes"
        ),
        (
            #""contentFetcherParameters": {"type": "LocalContentFetcher", "URL": "file:///b", "sha256": "00"}"#,
            "nonConsumable", "/0/contentFetcherParameters/sha256", "64 hexadecimal digits"
        ),
        (
            #""contentFetcherParameters": {"type": "BZRLocalContentFetcher", "URL": "/a/b.zip"}"#, "nonConsumable",
            "/0/contentFetcherParameters/URL", "file:"
        ),
        (
            #""contentFetcherParameters": {"type": "BZROnDemandContentFetcher", "checksum": "1", "tags": [1]}"#,
            "nonConsumable", "/0/contentFetcherParameters/tags", "array of strings"
        ),
        (
            #""contentFetcherParameters": {"type": "OnDemandContentFetcher", "tags": ["a"]}"#, "nonConsumable",
            "/0/contentFetcherParameters/checksum", "needs the checksum"
        ),
        (
            #""contentFetcherParameters": {"type": "FallbackContentFetcher", "fetchersParameters": []}"#,
            "nonConsumable", "/0/contentFetcherParameters/fetchersParameters", "array of objects"
        ),
        (
            #"""
            "contentFetcherParameters": {"type": "BZRFallbackContentFetcher", "fetchersParameters": [
                {"type": "LocalContentFetcher", "URL": "file:///a.zip"}, 7]}
            """#, "nonConsumable", "/0/contentFetcherParameters/fetchersParameters/1", "must be an object"
        ),
        (
            #"""
            "contentFetcherParameters": {"type": "BZRFallbackContentFetcher", "fetchersParameters": [{"URL": "https://a"}]}
            """#, "nonConsumable", "/0/contentFetcherParameters/fetchersParameters/0/type", "missing"
        ),
    ])
    func `a fault of a product is an error with its place and its reason, and the store can still use the list`(
        members: String, type: String, pointer: String, reason: String
    ) throws {
        let findings = try lint("[\(entry("a", type, members))]")
        #expect(findings.map(\.severity) == [.error], "\(findings)")
        #expect(findings.map(\.pointer) == [pointer])
        #expect(findings[0].reason.contains(reason), "\(findings)")
    }

    @Test(arguments: [
        (#""enablesProducts": ["a"]"#, "nonConsumable", "/0/enablesProducts", "only a subscription"),
        (#""enablesProducts": ["b."]"#, "renewableSubscription", "/0/enablesProducts/0", "begins with \"b.\""),
        (#""isSubscriberOnly": true"#, "consumable", "/0/isSubscriberOnly", "Did you mean \"isSubscribersOnly\"?"),
        (#""colour~/": 1"#, "consumable", "/0/colour~0~1", "is ignored"),
        (#""priceInfo": {}"#, "consumable", "/0/priceInfo", "prices come from the store"),
        (#""discountedProducts": []"#, "consumable", "/0/discountedProducts", "contains no discount"),
        (
            #""contentFetcherParameters": {"type": "RemoteContentFetcher", "URL": "https:///a.zip"}"#, "consumable",
            "/0/contentFetcherParameters/URL", "has no host"
        ),
    ])
    func `a probable mistake is a warning`(members: String, type: String, pointer: String, reason: String) throws {
        let findings = try lint("[\(entry("a", type, members))]")
        #expect(findings.map(\.severity) == [.warning], "\(findings)")
        #expect(findings.map(\.pointer) == [pointer])
        #expect(findings[0].reason.contains(reason), "\(findings)")
    }

    @Test(arguments: [
        #"{"type": "BZRRemoteContentFetcher", "URL": "https://example.com/a.zip", "sha256": "\#(String(repeating: "0a", count: 32))", "size": 1}"#,
        #"{"type": "RemoteContentFetcher", "URL": "HTTP://127.0.0.1:80/a.zip"}"#,
        #"{"type": "LocalContentFetcher", "URL": "file:///a.zip"}"#,
        #"{"type": "BZROnDemandContentFetcher", "tags": ["a"], "checksum": "1"}"#,
        #"{"type": "FallbackContentFetcher", "fetchersParameters": [{"type": "RemoteContentFetcher", "URL": "https://a"}]}"#,
    ])
    func `fetchers that come with the store are known with and without their prefix`(parameters: String) throws {
        #expect(try lint(content(parameters)) == [])
    }

    @Test func `the linter accepts a declared fetcher of the app with any parameters`() throws {
        let text = content(#"{"type": "Carrier", "URL": 7}"#)
        #expect(try lint(text).map(\.pointer) == ["/0/contentFetcherParameters/type"])
        #expect(try lint(text, ProductListRules(ownFetchers: ["Carrier"])) == [])
    }

    @Test func `a product for subscribers needs a subscription in the list that enables it`() throws {
        let pack = entry("film.noir", "nonConsumable", #""isSubscribersOnly": true"#)
        let other = entry("lens.noir")
        func findings(_ subscription: String) throws -> [String] {
            try lint("[\(pack), \(other), \(subscription)]").map(\.pointer)
        }
        #expect(try findings(entry("s", "renewableSubscription")) == [])
        #expect(try findings(entry("s", "nonRenewingSubscription", #""enablesProducts": ["film."]"#)) == [])
        #expect(
            try findings(entry("s", "renewableSubscription", #""enablesProducts": ["lens."]"#)) == [
                "/0/isSubscribersOnly"
            ])
        let acquired = entry("film.noir", "nonConsumable", #""isSubscribersOnly": true, "preAcquired": true"#)
        #expect(try lint("[\(acquired)]") == [], "A pre-acquired product needs no subscription.")
    }

    @Test func `identifiers that do not match the pattern are reported, also those of discounts`() throws {
        let rules = try ProductListRules(identifiers: #"com\.example\.[a-z.]+"#)
        let text = """
            [\(entry("com.example.a", "consumable", #""discountedProducts": ["com.example.b", "com.example.B"]"#)),
             \(entry("a.com.example.c"))]
            """
        let findings = try lint(text, rules)
        #expect(findings.map(\.pointer) == ["/0/discountedProducts/1", "/1/identifier"])
        #expect(findings.allSatisfy { $0.severity == .error && $0.reason.contains(#"com\.example"#) })
        #expect(throws: (any Error).self) { try ProductListRules(identifiers: "(") }
    }

    @Test(arguments: [
        ("Pro.1MonthTrial.Monthly", "Pro.Half.1WeekTrial.Monthly", true), ("pro.yearly", "pro.half.annual", true),
        ("pro.monthly", "pro.half", true), ("Pro.Monthly", "Pro.Half.Yearly", false),
        ("pro_weekly", "pro-half-daily", false),
    ])
    func `a discount whose identifier names another period is a warning`(full: String, discount: String, isFine: Bool)
        throws
    {
        let text = "[\(entry(full, "renewableSubscription", "\"discountedProducts\": [\"\(discount)\"]"))]"
        let findings = try lint(text)
        #expect(findings.map(\.pointer) == (isFine ? [] : ["/0/discountedProducts/0"]))
        #expect(findings.allSatisfy { $0.severity == .warning })
    }

    @Test func `a discount that the store sells for another period is an error`() throws {
        let text =
            "[\(entry("pro.year", "renewableSubscription", #""discountedProducts": ["pro.12months", "pro.month"]"#))]"
        let sold = [
            subscription("pro.year", .years(1)), subscription("pro.12months", .months(12)),
            subscription("pro.month", .months(1)),
        ]
        let findings = try lint(text, ProductListRules(sold: sold))
        #expect(findings.map(\.pointer) == ["/0/discountedProducts/1"])
        #expect(findings.first?.severity == .error)
        #expect(findings.first?.reason.contains("P1M") == true && findings.first?.reason.contains("P1Y") == true)
    }

    @Test func `differences from the store's products are reported`() throws {
        let text = """
            [\(entry("coins", "consumable")), \(entry("pack", "consumable")), \(entry("gone", "nonConsumable")),
             \(entry("pro", "renewableSubscription", #""discountedProducts": ["half"]"#)), \(entry("film", "nonConsumable", #""isSubscribersOnly": true"#))]
            """
        let price = Price(amount: 1, currency: "USD")
        let sold = [
            StoreProduct(id: "coins", kind: .consumable, price: price),
            StoreProduct(id: "pack", kind: .nonConsumable, price: price), subscription("pro", .months(1)),
        ]
        let findings = try lint(text, ProductListRules(sold: sold))
        #expect(findings.map(\.pointer) == ["/1/productType", "/2/identifier", "/3/discountedProducts/0"])
        #expect(findings.map(\.severity) == [.error, .warning, .warning])
    }

    private func subscription(_ id: ProductID, _ period: SubscriptionPeriod) -> StoreProduct {
        StoreProduct(
            id: id, kind: .autoRenewableSubscription, price: Price(amount: 1, currency: "USD"),
            subscription: SubscriptionTerms(groupID: "g", level: 1, period: period))
    }
}
