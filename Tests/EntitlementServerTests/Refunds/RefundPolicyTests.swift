import AppStorePayloads
import BaseTestSupport
import Foundation
import Primitives
import StoreModel
import Testing

@testable import EntitlementServer

struct RefundPolicyTests {
    private static let start = Date(timeIntervalSince1970: 1_700_000_000)
    static let complete = """
        {
          "consent": "assumed", "dryRun": true, "version": 1, "sampleContentProvided": true,
          "units": { "coins": 100 },
          "refundRules": [
            {
              "name": "all conditions",
              "when": {
                "products": ["coins"], "types": ["consumable"], "reasons": ["LEGAL", "OTHER"],
                "tenure": { "atLeast": "P1Y" }, "owned": { "below": "P2D" }, "refunds": { "atLeast": 1, "below": 3 },
                "refunded": { "currency": "USD", "atLeast": "9.99", "below": "100" }, "usage": { "below": 12.5 }
              },
              "answer": { "preference": "DECLINE", "deliveryStatus": "DELIVERED", "sampleContentProvided": false }
            },
            { "name": "nothing", "when": { "reasons": ["LEGAL"] }, "answer": "none" },
            { "name": "rest", "answer": {} }
          ]
        }
        """

    static func policy(_ text: String) throws -> RefundPolicy { try RefundPolicy(parsing: text.utf8) }

    private static func refund(_ change: (inout RefundCase) -> Void = { _ in }) -> RefundCase {
        var refund = RefundCase(
            product: "coins", kind: .consumable, purchasedAt: start, requestedAt: start.addingTimeInterval(3600),
            consent: true)
        change(&refund)
        return refund
    }

    // MARK: - The file

    @Test func `every member of a policy file is read`() throws {
        let policy = try Self.policy(Self.complete)
        #expect(policy.consent == .assumed && policy.isDryRun && policy.version == 1 && policy.sampleContentProvided)
        #expect(policy.units == ["coins": 100] && policy.rules.map(\.name) == ["all conditions", "nothing", "rest"])
        let conditions = policy.rules[0].conditions
        #expect(conditions.products == ["coins"] && conditions.types == [.consumable])
        #expect(conditions.reasons == [.legal, .other])
        #expect(conditions.tenure == .init(atLeast: .years(1)) && conditions.owned == .init(below: .days(2)))
        #expect(conditions.refunds == .init(atLeast: 1, below: 3) && conditions.usage == .init(below: 12_500))
        #expect(conditions.refunded?.amount == .init(atLeast: Decimal(string: "9.99"), below: 100))
        #expect(policy.rules[0].answer?.preference == .decline && policy.rules[1].answer == nil)
        #expect(policy.rules[2].conditions.isEmpty && policy.rules[2].answer == ConsumptionAnswer())
    }

    @Test func `the documented policy is read, and its members and conditions are the ones that exist`() throws {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent(
                "Documentation/RefundDesk.md")
        let page = try String(contentsOf: file, encoding: .utf8)
        let example = try #require(page.components(separatedBy: "```json\n").dropFirst().first)
            .components(separatedBy: "```")[0]
        #expect(try Self.policy(example).rules.count == 7)
        for (text, pointer) in [(#"{"x": 1}"#, ""), (#"{"refundRules": [{"name": "a", "when": {"x": 1}}]}"#, "/when")] {
            let error = #expect(throws: RefundPolicyError.self) { try Self.policy(text) }
            let known = try #require(
                error?.reason.components(separatedBy: "known are ").last?.components(separatedBy: ", "))
            #expect(known.count > 5, "\(pointer)")
            for name in known { #expect(page.contains("`\(name)`"), "\(name) is not documented") }
        }
        for silence in RefundDecision.Silence.allCases { #expect(page.contains("`\(silence.rawValue)`")) }
        for state in RefundRequest.State.allCases { #expect(page.contains("`\(state.rawValue)`")) }
    }

    @Test(arguments: [
        ("[]", ""), ("{", ""), ("{}", ""), (#"{"refundRules": []}"#, "/refundRules"),
        (#"{"refundRules": {}}"#, "/refundRules"), (#"{"refundRules": [7]}"#, "/refundRules/0"),
        (#"{"refundRules": [{"answer": {}}]}"#, "/refundRules/0"),
        (#"{"refundRules": [{"name": "a"}]}"#, "/refundRules/0"),
        (#"{"refundRules": [{"name": "", "answer": {}}]}"#, "/refundRules/0/name"),
        (#"{"refundRules": [{"name": "a\n", "answer": {}}]}"#, "/refundRules/0/name"),
        (#"{"refundRules": [{"name": "a", "answer": "no"}]}"#, "/refundRules/0/answer"),
        (#"{"refundRules": [{"name": "a", "answer": null}]}"#, "/refundRules/0/answer"),
        (#"{"refundRules": [{"name": "a", "answer": {}, "if": {}}]}"#, "/refundRules/0/if"),
        (#"{"refundRules": [{"name": "a", "answer": {"preference": "decline"}}]}"#, "/refundRules/0/answer/preference"),
        (
            #"{"refundRules": [{"name": "a", "answer": {"preference": "GRANT_PRORATED", "deliveryStatus": "UNDELIVERED_OTHER"}}]}"#,
            "/refundRules/0/answer/preference"
        ),
        (#"{"refundRules": [{"name": "a", "answer": {}}, {"name": "b", "answer": {}}]}"#, "/refundRules/1"),
        (
            #"{"refundRules": [{"name": "a", "when": {"usage": {"below": 5}}, "answer": {}}, {"name": "a", "answer": {}}]}"#,
            "/refundRules/1/name"
        ),
        (#"{"refundRules": [{"name": "a", "when": {"use": {}}, "answer": {}}]}"#, "/refundRules/0/when/use"),
        (#"{"refundRules": [{"name": "a", "when": {"usage": {}}, "answer": {}}]}"#, "/refundRules/0/when/usage"),
        (
            #"{"refundRules": [{"name": "a", "when": {"usage": {"atLeast": 5, "below": 5}}, "answer": {}}]}"#,
            "/refundRules/0/when/usage"
        ),
        (
            #"{"refundRules": [{"name": "a", "when": {"usage": {"atLeast": 0.0001}}, "answer": {}}]}"#,
            "/refundRules/0/when/usage/atLeast"
        ),
        (
            #"{"refundRules": [{"name": "a", "when": {"usage": {"below": 1e400}}, "answer": {}}]}"#,
            "/refundRules/0/when/usage/below"
        ),
        (
            #"{"refundRules": [{"name": "a", "when": {"tenure": {"below": "30d"}}, "answer": {}}]}"#,
            "/refundRules/0/when/tenure/below"
        ),
        (
            #"{"refundRules": [{"name": "a", "when": {"tenure": {"atLeast": "P1M", "below": "P2W"}}, "answer": {}}]}"#,
            "/refundRules/0/when/tenure"
        ),
        (
            #"{"refundRules": [{"name": "a", "when": {"refunded": {"atLeast": "5"}}, "answer": {}}]}"#,
            "/refundRules/0/when/refunded"
        ),
        (
            #"{"refundRules": [{"name": "a", "when": {"refunded": {"currency": "usd", "atLeast": "5"}}, "answer": {}}]}"#,
            "/refundRules/0/when/refunded/currency"
        ),
        (
            #"{"refundRules": [{"name": "a", "when": {"refunded": {"currency": "USD", "atLeast": 5}}, "answer": {}}]}"#,
            "/refundRules/0/when/refunded/atLeast"
        ),
        (
            #"{"refundRules": [{"name": "a", "when": {"reasons": ["LEGAL", "LEGAL"]}, "answer": {}}]}"#,
            "/refundRules/0/when/reasons/1"
        ),
        (#"{"refundRules": [{"name": "a", "when": {"types": []}, "answer": {}}]}"#, "/refundRules/0/when/types"),
        (#"{"consent": "yes", "refundRules": [{"name": "a", "answer": {}}]}"#, "/consent"),
        (#"{"version": 3, "refundRules": [{"name": "a", "answer": {}}]}"#, "/version"),
        (#"{"units": {"a": 0}, "refundRules": [{"name": "a", "answer": {}}]}"#, "/units/a"),
        (#"{"dryrun": true, "refundRules": [{"name": "a", "answer": {}}]}"#, "/dryrun"),
    ])
    func `a fault in a policy file is named with its place`(text: String, pointer: String) {
        #expect { try Self.policy(text) } throws: { error in
            (error as? RefundPolicyError)?.pointer == pointer && "\(error)".hasSuffix(".")
        }
    }

    // MARK: - Decisions

    @Test func `without a known consent nothing is sent, unless the policy assumes it`() throws {
        let rules = #""refundRules": [{"name": "all", "answer": {"preference": "DECLINE"}}]"#
        let (reported, assumed) = (
            try Self.policy("{\(rules)}"), try Self.policy(#"{"consent": "assumed", \#(rules)}"#)
        )
        for (policy, consent, silence) in [
            (reported, nil, .consentUnknown), (reported, false, .consentRefused), (reported, true, nil),
            (assumed, nil, nil), (assumed, false, .consentRefused), (assumed, true, nil),
        ] as [(RefundPolicy, Bool?, RefundDecision.Silence?)] {
            let decision = policy.decision(on: Self.refund { $0.consent = consent })
            #expect(decision.silence == silence && (decision.request == nil) == (silence != nil))
        }
    }

    @Test func `a prorated answer is passed over without a part that was used`() throws {
        let policy = try Self.policy(
            """
            {"units": {"coins": 4}, "refundRules": [
                {"name": "part", "answer": {"preference": "GRANT_PRORATED"}},
                {"name": "rest", "answer": {"preference": "DECLINE"}}]}
            """)
        for (usage, rule, percentage) in [
            (nil, "rest", nil), (.init(percentage: 0), "rest", 0), (.init(percentage: 100_000), "rest", 100_000),
            (.init(percentage: 1), "part", 1), (.init(used: 3), "part", 75_000), (.init(used: 9), "rest", 100_000),
            (.init(percentage: 5, deliveryStatus: .undeliveredOther), "rest", 0),
        ] as [(UsageReport?, String, Int?)] {
            let decision = policy.decision(on: Self.refund { $0.usage = usage })
            #expect(decision.rule == rule && decision.request?.percentage == percentage)
        }
        let subscription = policy.decision(on: Self.refund { $0.kind = .autoRenewableSubscription })
        #expect(subscription.rule == "part" && subscription.request?.body["consumptionPercentage"] == nil)
        #expect(policy.decision(on: Self.refund { $0.isAdvancedCommerce = true }).rule == "rest")
    }

    @Test func `the shares of family members are not answered`() throws {
        let policy = try Self.policy(#"{"refundRules": [{"name": "all", "answer": {}}]}"#)
        #expect(policy.decision(on: Self.refund { $0.isFamilyShared = true }).silence == .familyShared)
    }

    @Test func `version 1 has codes for ranges, and supports two types of products`() throws {
        let policy = try Self.policy(
            #"{"version": 1, "refundRules": [{"name": "all", "answer": {"preference": "DECLINE"}}]}"#)
        for kind in [ProductType.nonConsumable, .nonRenewingSubscription] {
            #expect(policy.decision(on: Self.refund { $0.kind = kind }).silence == .unsupportedType)
        }
        func body(_ change: (inout RefundCase) -> Void) -> JSONValue {
            policy.decision(on: Self.refund(change)).request?.body ?? .null
        }
        let unknown = body { _ in }
        #expect(unknown["appAccountToken"] == "" && unknown["refundPreference"] == 2 && unknown["deliveryStatus"] == 0)
        for member in ["accountTenure", "consumptionStatus", "platform", "playTime", "userStatus"] {
            #expect(unknown[member] == 0, "\(member)")
        }
        for (days, code) in [(0, 1), (2, 1), (3, 2), (10, 3), (30, 4), (90, 5), (180, 6), (364, 6), (365, 7)] {
            let tenure = body { $0.customerSince = $0.requestedAt.addingTimeInterval(TimeInterval(-days * 86_400)) }
            #expect(tenure["accountTenure"] == .number(code), "\(days)")
        }
        for (seconds, code) in [
            (0, 1), (299, 1), (300, 2), (3600, 3), (21_600, 4), (86_400, 5), (345_600, 6), (1_382_400, 7),
        ] {
            #expect(body { $0.usage = .init(playTime: seconds) }["playTime"] == .number(code), "\(seconds)")
        }
        for (percentage, code) in [(0, 1), (1, 2), (99_999, 2), (100_000, 3)] {
            #expect(body { $0.usage = .init(percentage: percentage) }["consumptionStatus"] == .number(code))
        }
        for (amount, code) in [
            ("0", 1), ("0.01", 2), ("49.99", 2), ("50", 3), ("100", 4), ("500", 5), ("1000", 6), ("2000", 7),
        ] {
            let dollars = ["USD": Decimal(string: amount) ?? 0] as [ExactString: Decimal]
            let history = body { $0.refunds = .init(count: 1, amounts: dollars, paid: dollars) }
            #expect(history["lifetimeDollarsRefunded"] == .number(code), "\(amount)")
            #expect(history["lifetimeDollarsPurchased"] == .number(code), "\(amount)")
        }
        let euros = body { $0.refunds = .init(count: 1, amounts: ["EUR": 5], paid: nil) }
        #expect(euros["lifetimeDollarsRefunded"] == 0 && euros["lifetimeDollarsPurchased"] == 0)
    }

    // MARK: - Against a model

    /// Decides as the documentation says, one rule after another, in a form that shares no code with the policy.
    private static func model(_ policy: RefundPolicy, _ refund: RefundCase) -> (rule: String?, silence: String?) {
        if refund.isFamilyShared { return (nil, "familyShared") }
        if refund.consent == false { return (nil, "consentRefused") }
        if refund.consent == nil && policy.consent == .reported { return (nil, "consentUnknown") }
        let isFirstVersion = refund.isAdvancedCommerce || policy.version == 1
        if isFirstVersion, refund.kind == .nonConsumable || refund.kind == .nonRenewingSubscription {
            return (nil, "unsupportedType")
        }
        var used: Double?
        if let report = refund.usage {
            if let percentage = report.percentage {
                used = Double(percentage) / 1000
            } else if let units = report.used, let whole = policy.units[refund.product] {
                used = min(100, (Double(units * 100_000) / Double(whole * refund.quantity)).rounded(.down) / 1000)
            }
        }
        rules: for rule in policy.rules {
            let when = rule.conditions
            if let products = when.products, !products.contains(refund.product) { continue }
            if let types = when.types, !types.contains(refund.kind) { continue }
            if let reasons = when.reasons {
                guard let reason = refund.reason, reasons.contains(reason) else { continue }
            }
            for (since, bounds) in [(refund.customerSince, when.tenure), (refund.purchasedAt, when.owned)] {
                guard let bounds else { continue }
                guard let since else { continue rules }
                if let low = bounds.atLeast, refund.requestedAt < low.end(from: since) { continue rules }
                if let high = bounds.below, refund.requestedAt >= high.end(from: since) { continue rules }
            }
            if let bounds = when.refunds {
                guard let count = refund.refunds?.count else { continue }
                if count < bounds.atLeast ?? 0 || count >= bounds.below ?? .max { continue }
            }
            if let refunded = when.refunded {
                guard let amounts = refund.refunds?.amounts else { continue }
                if amounts.contains(where: { $0.key != refunded.currency }) { continue }
                let sum = amounts[refunded.currency] ?? 0
                if let low = refunded.amount.atLeast, sum < low { continue }
                if let high = refunded.amount.below, sum >= high { continue }
            }
            if let bounds = when.usage {
                guard let used else { continue }
                if let low = bounds.atLeast, used < Double(low) / 1000 { continue }
                if let high = bounds.below, used >= Double(high) / 1000 { continue }
            }
            guard let answer = rule.answer else { return (rule.name, "byRule") }
            if answer.preference == .grantProrated {
                if isFirstVersion { continue }
                let isDelivered =
                    (answer.deliveryStatus ?? refund.usage?.deliveryStatus ?? .delivered) == .delivered
                let isPart = isDelivered && used.map { $0 > 0 && $0 < 100 } ?? false
                if refund.kind != .autoRenewableSubscription, !isPart { continue }
            }
            return (rule.name, nil)
        }
        return (nil, "noRule")
    }

    @Test(arguments: 1...40) func `random policies decide random cases as the model does`(seed: Int) {
        var random = SeededNumbers(state: UInt64(seed))
        var rulesThatDecided: Set<String> = []
        for _ in 0..<50 {
            let policy = Self.randomPolicy(&random)
            for _ in 0..<20 {
                let refund = Self.randomCase(&random)
                let (decision, expected) = (policy.decision(on: refund), Self.model(policy, refund))
                #expect(decision.rule == expected.rule && decision.silence?.rawValue == expected.silence)
                #expect((decision.request == nil) == (expected.silence != nil))
                if let rule = decision.rule { rulesThatDecided.insert(rule) }
                guard let request = decision.request, request.version == 2 else { continue }
                // What the documentation of Apple's request demands.
                let body = AppStoreServerAPI.ConsumptionRequest(unchecked: request.body.objectMembers)
                #expect(body.customerConsented == true && body.sampleContentProvided != nil)
                let percentage = body.consumptionPercentage
                if refund.kind == .autoRenewableSubscription { #expect(percentage == nil) }
                if body.deliveryStatus != .delivered { #expect(percentage ?? 0 == 0) }
                if let percentage { #expect((0...100_000).contains(percentage)) }
                if body.refundPreference == .grantProrated, refund.kind != .autoRenewableSubscription {
                    #expect(percentage.map { $0 > 0 && $0 < 100_000 } ?? false)
                }
            }
        }
        #expect(rulesThatDecided.count > 3)
    }

    private static func randomPolicy(_ random: inout SeededNumbers) -> RefundPolicy {
        func bounds<Value>(_ values: [Value]) -> RefundPolicy.Bounds<Value>? {
            guard Int.random(in: 0..<4, using: &random) == 0 else { return nil }
            let low = Int.random(in: 0..<values.count - 1, using: &random)
            let high = Int.random(in: low + 1..<values.count, using: &random)
            let isOpen = Int.random(in: 0..<3, using: &random)
            return .init(atLeast: isOpen == 1 ? nil : values[low], below: isOpen == 2 ? nil : values[high])
        }
        func subset<Value: Hashable>(_ values: [Value]) -> Set<Value>? {
            guard Int.random(in: 0..<3, using: &random) == 0 else { return nil }
            return Set(values.filter { _ in Bool.random(using: &random) } + [values[0]])
        }
        var policy = RefundPolicy()
        policy.consent = Bool.random(using: &random) ? .assumed : .reported
        policy.version = Bool.random(using: &random) ? 2 : Int.random(in: 1...2, using: &random)
        policy.units = Bool.random(using: &random) ? ["coins": Int.random(in: 1...7, using: &random)] : [:]
        for number in 0..<Int.random(in: 1...5, using: &random) {
            var rule = RefundPolicy.Rule(name: "\(number)")
            rule.conditions.products = subset(["coins", "tools"])
            rule.conditions.types = subset(ProductType.allCases)
            rule.conditions.reasons = subset([.legal, .other, .unintendedPurchase])
            rule.conditions.tenure = bounds([.days(1), .weeks(1), .months(1), .years(1)])
            rule.conditions.owned = bounds([.days(1), .weeks(1), .months(1)])
            rule.conditions.refunds = bounds([0, 1, 2, 5])
            rule.conditions.refunded = bounds([0, 5, 50] as [Decimal]).map {
                .init(currency: Bool.random(using: &random) ? "USD" : "EUR", amount: $0)
            }
            rule.conditions.usage = bounds([0, 1000, 50_000, 100_000])
            if Int.random(in: 0..<5, using: &random) > 0 {
                rule.answer = ConsumptionAnswer(
                    preference: [nil, .decline, .grantFull, .grantProrated].randomElement(using: &random) ?? nil,
                    deliveryStatus: [nil, nil, .delivered, .undeliveredOther].randomElement(using: &random) ?? nil)
            }
            policy.rules.append(rule)
        }
        return policy
    }

    private static func randomCase(_ random: inout SeededNumbers) -> RefundCase {
        func days(_ range: ClosedRange<Int>) -> TimeInterval {
            TimeInterval(Int.random(in: range, using: &random) * 86_400)
        }
        let requested = start.addingTimeInterval(days(0...400))
        var refund = RefundCase(
            product: Bool.random(using: &random) ? "coins" : "tools",
            kind: ProductType.allCases.randomElement(using: &random) ?? .consumable,
            quantity: Int.random(in: 1...3, using: &random), purchasedAt: requested.addingTimeInterval(-days(0...40)),
            requestedAt: requested)
        refund.reason = [nil, .legal, .other, .unsatisfiedWithPurchase].randomElement(using: &random) ?? nil
        refund.isFamilyShared = Int.random(in: 0..<20, using: &random) == 0
        refund.isAdvancedCommerce = Int.random(in: 0..<10, using: &random) == 0
        refund.consent = [nil, true, true, true, false].randomElement(using: &random) ?? nil
        refund.customerSince = Bool.random(using: &random) ? requested.addingTimeInterval(-days(0...400)) : nil
        if Bool.random(using: &random) {
            let amounts: [[ExactString: Decimal]?] = [nil, [:], ["USD": 5], ["USD": 60], ["EUR": 5, "USD": 7]]
            refund.refunds = .init(
                count: Int.random(in: 0...6, using: &random), amounts: amounts.randomElement(using: &random) ?? nil)
        }
        if Bool.random(using: &random) {
            let isPercentage = Bool.random(using: &random)
            refund.usage = .init(
                percentage: isPercentage ? [0, 1, 1000, 50_000, 100_000].randomElement(using: &random) : nil,
                used: isPercentage ? nil : Int.random(in: 0...30, using: &random),
                deliveryStatus: [nil, nil, .undeliveredOther].randomElement(using: &random) ?? nil)
        }
        return refund
    }
}

extension JSONValue {
    /// The members of an object; none for another value.
    fileprivate var objectMembers: JSONMembers {
        if case .object(let members) = self { members } else { [:] }
    }
}
