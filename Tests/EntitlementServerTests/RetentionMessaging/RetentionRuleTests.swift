import BaseTestSupport
import Foundation
import Primitives
import StoreModel
import Testing

@testable import EntitlementServer

/// The decision of retention rules, and the errors of their file.
@Suite struct RetentionRuleTests {
    static let message = UUID(uuidString: "7C2A4C1E-5F7B-4E55-9D0B-0A5A1B0C3D01")!
    private static let now = Date(timeIntervalSince1970: 1_800_000_000)

    static func rules(_ text: String) throws -> RetentionRules {
        let identifier = message.uuidString.lowercased()
        return try RetentionRules(json: try JSONValue(parsing: text.replacing("MESSAGE", with: identifier)))
    }

    private static func request(
        _ product: ProductID = "pro.monthly", locale: String = "en-US", environment: StoreEnvironment = .production
    ) -> RetentionRequest {
        RetentionRequest(originalTransactionID: "1", productID: product, locale: locale, environment: environment)
    }

    private static func history(
        days: Double = 0, paidPeriods: Int = 1, introductory: Bool = false, promotional: Bool = false
    ) -> SubscriptionHistory {
        SubscriptionHistory(
            startedAt: now.addingTimeInterval(-days * 86400), paidPeriods: paidPeriods,
            hasUsedIntroductoryOffer: introductory, hasUsedPromotionalOffer: promotional)
    }

    private static let say = #""answer": {"message": {"messageIdentifier": "MESSAGE"}}"#

    // MARK: - Decisions

    @Test func `the first rule that matches gives the answer`() throws {
        let rules = try Self.rules(
            """
            {"rules": [
                {"name": "yearly", "when": {"products": ["pro.yearly"]}, "answer": "none"},
                {"name": "german", "when": {"locales": ["de"]}, \(Self.say)},
                {"name": "all", "when": {}, \(Self.say)}
            ]}
            """)
        func name(_ request: RetentionRequest) -> String? { rules.rule(for: request, nil, at: Self.now)?.name }
        #expect(name(Self.request("pro.yearly", locale: "de-DE")) == "yearly")
        #expect(name(Self.request(locale: "de-DE")) == "german")
        #expect(name(Self.request()) == "all")
        #expect(rules.rule(for: Self.request("pro.yearly"), nil, at: Self.now)?.answer == .noMessage)
        #expect(rules.rule(for: Self.request(), nil, at: Self.now)?.answer == .message(Self.message))
    }

    @Test(
        arguments: [
            ("en", "en", true), ("en", "en-GB", true), ("EN", "en-gb", true), ("en", "en_GB", true),
            ("en-GB", "en", false), ("en-GB", "en-GB-oxendict", true), ("en-GB", "en-GBR", false), ("en", "enm", false),
            ("zh-Hans", "zh-Hans-CN", true), ("zh-CN", "zh-Hans-CN", false), ("es-419", "es-419", true),
            ("en", "", false),
        ])
    func `a language contains its regions and scripts`(range: String, locale: String, contains: Bool) throws {
        #expect(try #require(LanguageRange(range)).contains(locale) == contains)
    }

    @Test(arguments: ["", "-", "en-", "-GB", "en--GB", "*", "e1", "en_GB", "englishes", "en-GB ", "\u{65}\u{301}n"])
    func `a string that is no language range is refused`(text: String) { #expect(LanguageRange(text) == nil) }

    @Test func `the bounds of the days and of the paid periods are inclusive`() throws {
        let rules = try Self.rules(
            """
            {"rules": [
                {"name": "days", "when": {"daysSubscribed": {"min": 30, "max": 59}}, \(Self.say)},
                {"name": "periods", "when": {"paidPeriods": {"min": 3, "max": 3}}, \(Self.say)}
            ]}
            """)
        func name(_ days: Double, _ periods: Int = 0) -> String? {
            rules.rule(for: Self.request(), Self.history(days: days, paidPeriods: periods), at: Self.now)?.name
        }
        #expect(name(29.999) == nil && name(30) == "days" && name(59.999) == "days" && name(60) == nil)
        #expect(name(0, 2) == nil && name(0, 3) == "periods" && name(0, 4) == nil)
        // The first purchase is later than the clock.
        #expect(name(-400) == nil && Self.history(days: -400).days(at: Self.now) == 0)
    }

    @Test func `offers that were used, the environment and an open end are conditions`() throws {
        let rules = try Self.rules(
            """
            {"rules": [
                {"name": "fresh", "when": {"usedPromotionalOffer": false, "usedIntroductoryOffer": true}, \(Self.say)},
                {"name": "old", "when": {"daysSubscribed": {"min": 365}, "environment": "production"}, \(Self.say)},
                {"name": "test", "when": {"environment": "sandbox"}, \(Self.say)}
            ]}
            """)
        func name(_ history: SubscriptionHistory?, _ environment: StoreEnvironment = .production) -> String? {
            rules.rule(for: Self.request(environment: environment), history, at: Self.now)?.name
        }
        #expect(name(Self.history(introductory: true)) == "fresh")
        #expect(name(Self.history(introductory: true, promotional: true)) == nil)
        #expect(name(Self.history()) == nil)
        #expect(name(Self.history(days: 36500)) == "old")
        #expect(name(Self.history(days: 36500), .sandbox) == "test")
        #expect(name(nil) == nil && name(nil, .sandbox) == "test", "A condition about an unknown past is not met.")
    }

    @Test func `product ids are compared by their bytes`() throws {
        let rules = try Self.rules(#"{"rules": [{"name": "a", "when": {"products": ["caf\u00e9"]}, \#(Self.say)}]}"#)
        #expect(rules.rule(for: Self.request("caf\u{e9}"), nil, at: Self.now)?.name == "a")
        let decomposed = ProductID(unchecked: "cafe\u{301}")
        #expect(rules.rule(for: Self.request(decomposed), nil, at: Self.now) == nil)
        #expect(rules.rule(for: Self.request("Caf\u{e9}"), nil, at: Self.now) == nil)
    }

    @Test func `a customer is not offered the present subscription as an alternative`() throws {
        let alternative = #"{"alternateProduct": {"messageIdentifier": "MESSAGE", "productId": "pro.yearly"}}"#
        let rules = try Self.rules(
            #"{"rules": [{"name": "switch", "answer": \#(alternative)}, {"name": "all", \#(Self.say)}]}"#)
        let found = try #require(rules.rule(for: Self.request(), nil, at: Self.now))
        #expect(found.answer == .alternateProduct("pro.yearly", message: Self.message))
        #expect(rules.rule(for: Self.request("pro.yearly"), nil, at: Self.now)?.name == "all")
    }

    @Test func `the ledger is read only for a rule that could be the answer`() throws {
        let rules = try Self.rules(
            """
            {"rules": [
                {"name": "yearly", "when": {"products": ["pro.yearly"], "paidPeriods": {"max": 1}}, \(Self.say)},
                {"name": "german", "when": {"locales": ["de"]}, "answer": "none"},
                {"name": "late", "when": {"daysSubscribed": {"min": 1}}, \(Self.say)}
            ]}
            """)
        #expect(rules.dependOnHistory(for: Self.request("pro.yearly", locale: "de")))
        #expect(!rules.dependOnHistory(for: Self.request(locale: "de-AT")))
        #expect(rules.dependOnHistory(for: Self.request()))
    }

    // MARK: - Property

    /// Decides by the JSON itself, without the code under test.
    private static func expected(
        _ file: JSONValue, _ request: RetentionRequest, _ history: SubscriptionHistory?
    ) -> String? {
        for rule in file["rules"]?.arrayValue ?? [] {
            let when = rule["when"]
            var holds = true
            if let products = when?["products"]?.arrayValue {
                holds = holds && products.contains(.string(request.productID.rawValue))
            }
            if let locales = when?["locales"]?.arrayValue?.compactMap(\.stringValue) {
                let parts = request.locale.lowercased().split(separator: "-").map(String.init)
                let fallbacks = (1...parts.count).map { parts.prefix($0).joined(separator: "-") }
                holds = holds && locales.contains { fallbacks.contains($0.lowercased()) }
            }
            if let environment = when?["environment"]?.stringValue {
                holds = holds && environment == request.environment.rawValue
            }
            let days = history.map { Int(now.timeIntervalSince($0.startedAt)) / 86400 }
            for (name, value) in [("daysSubscribed", days), ("paidPeriods", history?.paidPeriods)] {
                guard let range = when?[name] else { continue }
                holds = holds && value.map { ($0 >= range["min"]?.intValue ?? 0) } ?? false
                holds = holds && value.map { ($0 <= range["max"]?.intValue ?? .max) } ?? false
            }
            for (name, value) in [
                ("usedIntroductoryOffer", history?.hasUsedIntroductoryOffer),
                ("usedPromotionalOffer", history?.hasUsedPromotionalOffer),
            ] {
                if let wanted = when?[name]?.boolValue { holds = holds && value == wanted }
            }
            if rule["answer"]?["alternateProduct"]?["productId"]?.stringValue == request.productID.rawValue {
                holds = false
            }
            if holds { return rule["name"]?.stringValue }
        }
        return nil
    }

    private static let products: [ProductID] = ["a", "b", "c"]
    private static let locales = ["en", "en-GB", "en-GB-scouse", "de", "zh-Hans", "zh-Hans-CN", "zh"]

    private static func rule(_ number: Int, using numbers: inout SeededNumbers) -> JSONValue {
        func once() -> Bool { Int.random(in: 0..<3, using: &numbers) == 0 }
        var when: JSONValue = [:]
        if once() { when["products"] = .array(some(products.map(\.rawValue), using: &numbers)) }
        if once() { when["locales"] = .array(some(locales, using: &numbers)) }
        if once() { when["environment"] = .string(Bool.random(using: &numbers) ? "production" : "sandbox") }
        for name in ["daysSubscribed", "paidPeriods"] where once() {
            let low = Int.random(in: 0...8, using: &numbers)
            let high = Int.random(in: low...9, using: &numbers)
            when[name] =
                once()
                ? ["min": .number(low)]
                : once()
                    ? ["max": .number(high)]
                    : [
                        "min": .number(low), "max": .number(high),
                    ]
        }
        for name in ["usedIntroductoryOffer", "usedPromotionalOffer"] where once() {
            when[name] = .bool(Bool.random(using: &numbers))
        }
        // A rule without conditions would hide the rules after it, and the file would be refused.
        if when == [:] { when["environment"] = "sandbox" }
        let id = JSONValue.string(message.uuidString)
        let answer: JSONValue =
            once()
            ? ["alternateProduct": ["messageIdentifier": id, "productId": "c"]] : ["message": ["messageIdentifier": id]]
        if answer["alternateProduct"] != nil, when["products"] == ["c"] { when["products"] = ["a"] }
        return ["name": .string("rule \(number)"), "when": when, "answer": answer]
    }

    private static func some(_ texts: [String], using numbers: inout SeededNumbers) -> [JSONValue] {
        texts.shuffled(using: &numbers).prefix(Int.random(in: 1...2, using: &numbers)).map { .string($0) }
    }

    @Test(arguments: 1...40 as ClosedRange<UInt64>)
    func `random rules decide random requests as their JSON says`(seed: UInt64) throws {
        var numbers = SeededNumbers(state: seed)
        let file: JSONValue = ["rules": .array((0..<6).map { Self.rule($0, using: &numbers) })]
        let rules = try RetentionRules(json: file)
        var found: Set<String?> = []
        for _ in 0..<200 {
            let request = Self.request(
                try #require(Self.products.randomElement(using: &numbers)),
                locale: try #require(Self.locales.randomElement(using: &numbers)),
                environment: Bool.random(using: &numbers) ? .production : .sandbox)
            let history =
                Int.random(in: 0..<5, using: &numbers) == 0
                ? nil
                : Self.history(
                    days: Double(Int.random(in: 0...9, using: &numbers)),
                    paidPeriods: Int.random(in: 0...9, using: &numbers), introductory: Bool.random(using: &numbers),
                    promotional: Bool.random(using: &numbers))
            let name = rules.rule(for: request, history, at: Self.now)?.name
            #expect(name == Self.expected(file, request, history), "\(file.text()) \(request)")
            if !rules.dependOnHistory(for: request) {
                #expect(rules.rule(for: request, nil, at: Self.now)?.name == name, "\(file.text()) \(request)")
            }
            found.insert(name)
        }
        #expect(found.count > 1)
    }

    // MARK: - The file

    @Test(
        arguments: [
            ("[]", [""]), (#"{"rules": []}"#, ["/rules"]), (#"{"rules": 1}"#, ["/rules"]),
            (#"{"rules": [1], "version": 1}"#, ["/version", "/rules/0"]),
            (#"{"rules": [{}]}"#, ["/rules/0/name", "/rules/0/answer"]),
            (#"{"rules": [{"name": "", "answer": "none"}]}"#, ["/rules/0/name"]),
            (#"{"rules": [{"name": "a\nb", "answer": "none"}]}"#, ["/rules/0/name"]),
            (#"{"rules": [{"name": "é", "answer": "none"}]}"#, ["/rules/0/name"]),
            (#"{"rules": [{"name": "a", "answer": "default"}]}"#, ["/rules/0/answer"]),
            (
                #"{"rules": [{"name": "a", "answer": "none"}, {"name": "a", "answer": "none"}]}"#,
                ["/rules/1/name", "/rules/1"]
            ),
            (#"{"rules": [{"name": "a", "when": [], "answer": "none"}]}"#, ["/rules/0/when"]),
            (#"{"rules": [{"name": "a", "when": {"product": ["a"]}, "answer": "none"}]}"#, ["/rules/0/when/product"]),
            (#"{"rules": [{"name": "a", "when": {"x/y": 1}, "answer": "none"}]}"#, ["/rules/0/when/x~1y"]),
            (#"{"rules": [{"name": "a", "when": {"products": []}, "answer": "none"}]}"#, ["/rules/0/when/products"]),
            (
                #"{"rules": [{"name": "a", "when": {"products": ["a", "a", ""]}, "answer": "none"}]}"#,
                ["/rules/0/when/products/1", "/rules/0/when/products/2"]
            ),
            (
                #"{"rules": [{"name": "a", "when": {"products": ["\u212b"]}, "answer": "none"}]}"#,
                ["/rules/0/when/products/0"]
            ),
            (
                #"{"rules": [{"name": "a", "when": {"locales": ["en_GB"]}, "answer": "none"}]}"#,
                ["/rules/0/when/locales/0"]
            ),
            (
                #"{"rules": [{"name": "a", "when": {"environment": "Production"}, "answer": "none"}]}"#,
                ["/rules/0/when/environment"]
            ),
            (
                #"{"rules": [{"name": "a", "when": {"daysSubscribed": {}}, "answer": "none"}]}"#,
                ["/rules/0/when/daysSubscribed"]
            ),
            (
                #"{"rules": [{"name": "a", "when": {"daysSubscribed": {"min": 2, "max": 1}}, "answer": "none"}]}"#,
                ["/rules/0/when/daysSubscribed"]
            ),
            (
                #"{"rules": [{"name": "a", "when": {"paidPeriods": {"min": -1}}, "answer": "none"}]}"#,
                ["/rules/0/when/paidPeriods/min"]
            ),
            (
                #"{"rules": [{"name": "a", "when": {"paidPeriods": {"max": 1e300}}, "answer": "none"}]}"#,
                ["/rules/0/when/paidPeriods/max"]
            ),
            (
                #"{"rules": [{"name": "a", "when": {"paidPeriods": {"min": 1.5}}, "answer": "none"}]}"#,
                ["/rules/0/when/paidPeriods/min"]
            ),
            (
                #"{"rules": [{"name": "a", "when": {"usedPromotionalOffer": "no"}, "answer": "none"}]}"#,
                ["/rules/0/when/usedPromotionalOffer"]
            ),
            (
                #"{"rules": [{"name": "a", "answer": {"message": {"messageIdentifier": "1"}}}]}"#,
                ["/rules/0/answer/message/messageIdentifier"]
            ),
            (
                #"{"rules": [{"name": "a", "answer": {"message": {"messageIdentifier": "MESSAGE", "productId": "a"}}}]}"#,
                ["/rules/0/answer/message/productId"]
            ),
            (#"{"rules": [{"name": "a", "answer": {"message": {}, "promotionalOffer": {}}}]}"#, ["/rules/0/answer"]),
            (
                #"{"rules": [{"name": "a", "answer": {"alternateProduct": {"messageIdentifier": "MESSAGE"}}}]}"#,
                ["/rules/0/answer/alternateProduct/productId"]
            ),
            (
                #"""
                {"rules": [{"name": "a", "when": {"products": ["a"]},
                 "answer": {"alternateProduct": {"messageIdentifier": "MESSAGE", "productId": "a"}}}]}
                """#, ["/rules/0/answer/alternateProduct/productId"]
            ),
            (
                #"""
                {"rules": [{"name": "a", "answer": {"promotionalOffer":
                 {"messageIdentifier": "MESSAGE", "offerIdentifier": "a\u2063b", "signature": "v2"}}}]}
                """#,
                ["/rules/0/answer/promotionalOffer/offerIdentifier", "/rules/0/answer/promotionalOffer/signature"]
            ),
        ])
    func `each fault of a file is named with its place`(text: String, pointers: [String]) throws {
        do {
            _ = try Self.rules(text)
            Issue.record("accepted: \(text)")
        } catch let error as RulesError {
            #expect(error.findings.map(\.pointer) == pointers)
            #expect(error.findings.allSatisfy { $0.reason.count > 15 })
        }
    }

    @Test func `a rule after one that always matches is a fault, and one after an alternative is none`() throws {
        let alternative = #"{"alternateProduct": {"messageIdentifier": "MESSAGE", "productId": "b"}}"#
        _ = try Self.rules(#"{"rules": [{"name": "a", "answer": \#(alternative)}, {"name": "b", "answer": "none"}]}"#)
        #expect(throws: RulesError.self) {
            try Self.rules(#"{"rules": [{"name": "a", "answer": "none"}, {"name": "b", "answer": \#(alternative)}]}"#)
        }
    }

    @Test func `a file with more than 1000 rules is refused`() throws {
        func file(_ count: Int) -> JSONValue {
            let rules = (0..<count).map { number -> JSONValue in
                ["name": "\(number)", "when": ["products": ["a"]], "answer": "none"]
            }
            return ["rules": .array(rules)]
        }
        #expect(try RetentionRules(json: file(1000)).rules.count == 1000)
        #expect(throws: RulesError.self) { try RetentionRules(json: file(1001)) }
    }
}
