import AppStorePayloads
import Foundation
import Primitives
import StoreModel

/// A fault in a refund policy, with its place.
package struct RefundPolicyError: Error, Equatable, CustomStringConvertible {
    /// A JSON pointer (RFC 6901). It is empty for the document itself.
    package let pointer: String
    /// The fault and the expected value, in words that follow the pointer.
    package let reason: String

    package var description: String { "\(pointer.isEmpty ? "The refund policy" : pointer) \(reason)." }
}

extension RefundPolicy {
    /// The member that distinguishes a refund policy from other files.
    private static let rulesMember = "refundRules"
    private static let members = ["consent", "dryRun", "version", "sampleContentProvided", "units", rulesMember]

    /// Returns whether a document is a refund policy, valid or not.
    package static func recognizes(_ document: JSONValue) -> Bool { document[rulesMember] != nil }

    /// Creates a policy from the bytes of a file.
    ///
    /// Throws `RefundPolicyError` for the first fault. An unknown member is a fault, because a misspelt condition would
    /// change the decisions.
    package init(parsing bytes: some Sequence<UInt8>) throws(RefundPolicyError) {
        let json: JSONValue
        do { json = try JSONValue(parsing: bytes) } catch {
            throw RefundPolicyError(pointer: "", reason: "is not JSON: \(error)")
        }
        let place = RefundPolicyPlace(pointer: "", value: json)
        try place.check(Self.members)
        if let value = place["consent"] { consent = try value.choice(Consent.allCases.map(\.rawValue), Consent.init) }
        if let value = place["dryRun"] { isDryRun = try value.flag() }
        if let value = place["version"] { version = try value.integer(in: 1...2) }
        if let value = place["sampleContentProvided"] { sampleContentProvided = try value.flag() }
        if let value = place["units"] { units = try value.units() }
        rules = try place.require(Self.rulesMember).elements().map(Rule.init)
        try checkRules()
    }

    private func checkRules() throws(RefundPolicyError) {
        let pointer = "/\(Self.rulesMember)"
        guard !rules.isEmpty else { throw RefundPolicyError(pointer: pointer, reason: "should have at least one rule") }
        for (index, rule) in rules.enumerated() {
            let earlier = rules[..<index]
            if earlier.contains(where: { $0.name.hasSameBytes(as: rule.name) }) {
                throw RefundPolicyError(
                    pointer: "\(pointer)/\(index)/name", reason: "should differ from the names of earlier rules")
            }
            // Only a prorated answer can be passed over.
            let decidesAll = earlier.first { $0.conditions.isEmpty && $0.answer?.preference != .grantProrated }
            if let decidesAll {
                throw RefundPolicyError(
                    pointer: "\(pointer)/\(index)",
                    reason: "never applies, because the earlier rule \"\(decidesAll.name)\" has no conditions")
            }
        }
    }
}

extension RefundPolicy.Rule {
    fileprivate init(_ place: RefundPolicyPlace) throws(RefundPolicyError) {
        try place.check(["name", "when", "answer"])
        name = try place.require("name").name()
        if let when = place["when"] { conditions = try RefundPolicy.Conditions(when) }
        let answer = try place.require("answer")
        self.answer = answer.value == "none" ? nil : try ConsumptionAnswer(answer)
    }
}

extension RefundPolicy.Conditions {
    fileprivate init(_ place: RefundPolicyPlace) throws(RefundPolicyError) {
        try place.check(["products", "types", "reasons", "tenure", "owned", "refunds", "refunded", "usage"])
        if let value = place["products"] {
            products = try value.set { place throws(RefundPolicyError) in try place.product() }
        }
        if let value = place["types"] {
            types = try value.set { place throws(RefundPolicyError) in
                try place.choice(ProductType.allCases.map(\.rawValue)) { ProductType(rawValue: $0) }
            }
        }
        if let value = place["reasons"] {
            let known: [AppStoreServerAPI.ConsumptionRequestReason] = [
                .unintendedPurchase, .fulfillmentIssue, .unsatisfiedWithPurchase, .legal, .other,
            ]
            reasons = try value.set { place throws(RefundPolicyError) in
                try place.choice(known.map(\.rawValue)) { .init(rawValue: $0) }
            }
        }
        if let value = place["tenure"] { tenure = try value.periods() }
        if let value = place["owned"] { owned = try value.periods() }
        if let value = place["refunds"] {
            refunds = try value.bounds { place throws(RefundPolicyError) in try place.integer(in: 0...1_000_000) }
        }
        if let value = place["refunded"] {
            refunded = RefundPolicy.Refunded(
                currency: try value.require("currency").currency(),
                amount: try value.bounds(beside: ["currency"]) { place throws(RefundPolicyError) in
                    try place.amount()
                })
        }
        if let value = place["usage"] {
            usage = try value.bounds { place throws(RefundPolicyError) in try place.percentage() }
        }
    }
}

extension ConsumptionAnswer {
    private static let preferences: [AppStoreServerAPI.RefundPreference] = [.decline, .grantFull, .grantProrated]
    static let deliveryStatuses: [AppStoreServerAPI.DeliveryStatus] = [
        .delivered, .undeliveredQualityIssue, .undeliveredWrongItem, .undeliveredServerOutage, .undeliveredOther,
    ]
    static let preferenceNames = preferences.map(\.rawValue)
    static let deliveryNames = deliveryStatuses.map(\.rawValue)

    fileprivate init(_ place: RefundPolicyPlace) throws(RefundPolicyError) {
        guard place.value.objectValue != nil else {
            throw place.error("should be an object, or \"none\" to send nothing")
        }
        try place.check(["preference", "deliveryStatus", "sampleContentProvided"])
        preference = try place["preference"]?.choice(Self.preferenceNames) { .init(rawValue: $0) }
        deliveryStatus = try place["deliveryStatus"]?.choice(Self.deliveryNames) { .init(rawValue: $0) }
        sampleContentProvided = try place["sampleContentProvided"]?.flag()
        if preference == .grantProrated, let deliveryStatus, deliveryStatus != .delivered {
            throw place.member("preference").error(
                "should not be GRANT_PRORATED for an undelivered product, of which nothing was used")
        }
    }
}

/// A value of a policy file, with its place.
private struct RefundPolicyPlace {
    let pointer: String
    let value: JSONValue

    func error(_ reason: String) -> RefundPolicyError { RefundPolicyError(pointer: pointer, reason: reason) }

    func member(_ name: String) -> RefundPolicyPlace {
        RefundPolicyPlace(pointer: JSONPointer.member(name, of: pointer), value: value[name] ?? .null)
    }

    subscript(name: String) -> RefundPolicyPlace? { value[name] == nil ? nil : member(name) }

    func require(_ name: String) throws(RefundPolicyError) -> RefundPolicyPlace {
        guard let member = self[name] else { throw error("should have the member \"\(name)\"") }
        return member
    }

    /// Throws unless the value is an object whose members are all among `names`.
    func check(_ names: [String]) throws(RefundPolicyError) {
        guard case .object(let members) = value else { throw error("should be an object") }
        for (name, _) in members where !names.contains(where: { $0.hasSameBytes(as: name) }) {
            throw member(name).error("is unknown; known are \(names.joined(separator: ", "))")
        }
    }

    func elements() throws(RefundPolicyError) -> [RefundPolicyPlace] {
        guard case .array(let elements) = value else { throw error("should be a list") }
        return elements.enumerated().map { RefundPolicyPlace(pointer: "\(pointer)/\($0)", value: $1) }
    }

    func flag() throws(RefundPolicyError) -> Bool {
        guard let flag = value.boolValue else { throw error("should be true or false") }
        return flag
    }

    func integer(in range: ClosedRange<Int>) throws(RefundPolicyError) -> Int {
        guard let number = value.intValue, range.contains(number) else {
            throw error("should be a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    func choice<Value>(_ names: [String], _ make: (String) -> Value?) throws(RefundPolicyError) -> Value {
        guard let text = value.stringValue, names.contains(where: { $0.hasSameBytes(as: text) }),
            let choice = make(text)
        else { throw error("should be one of \(names.joined(separator: ", "))") }
        return choice
    }

    func name() throws(RefundPolicyError) -> String {
        guard let name = value.stringValue, (1...100).contains(name.utf8.count),
            !name.unicodeScalars.contains(where: \.isControl)
        else { throw error("should be a name of 1 to 100 bytes without control characters") }
        return name
    }

    func product() throws(RefundPolicyError) -> ProductID {
        guard let product = value.stringValue.flatMap({ ProductID(rawValue: $0) }) else {
            throw error("should be a product id: a string with \(ProductID.rule)")
        }
        return product
    }

    func currency() throws(RefundPolicyError) -> ExactString {
        guard let code = value.stringValue, code.utf8.count == 3,
            code.utf8.allSatisfy({ (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) })
        else { throw error("should be an ISO 4217 code such as \"USD\"") }
        return ExactString(code)
    }

    /// Reads an amount of money with at most six decimals.
    func amount() throws(RefundPolicyError) -> Decimal {
        guard let text = value.stringValue, let millionths = DecimalText.integer(text, decimals: 6) else {
            throw error("should be a string with a decimal number without a sign, such as \"49.99\"")
        }
        return Decimal(millionths) / 1_000_000
    }

    /// Reads a percentage in thousandths of a percent.
    func percentage() throws(RefundPolicyError) -> Int {
        guard case .number(let number) = value, let thousandths = Percentage.thousandths(number) else {
            throw error("should be \(Percentage.rule)")
        }
        return thousandths
    }

    func set<Element>(
        _ read: (RefundPolicyPlace) throws(RefundPolicyError) -> Element
    ) throws(RefundPolicyError) -> Set<Element> {
        var set: Set<Element> = []
        for place in try elements() {
            guard set.insert(try read(place)).inserted else { throw place.error("is in the list already") }
        }
        guard !set.isEmpty else { throw error("should have at least one element") }
        return set
    }

    /// Reads the bounds `atLeast` and `below`, of which at least one is given.
    func bounds<Value: Comparable>(
        beside others: [String] = [], _ read: (RefundPolicyPlace) throws(RefundPolicyError) -> Value
    ) throws(RefundPolicyError) -> RefundPolicy.Bounds<Value> {
        let bounds: RefundPolicy.Bounds<Value> = try openBounds(beside: others, read)
        if let low = bounds.atLeast, let high = bounds.below, low >= high {
            throw error("should have a \"below\" that is greater than \"atLeast\"")
        }
        return bounds
    }

    /// Reads bounds of time, as ISO 8601 durations.
    func periods() throws(RefundPolicyError) -> RefundPolicy.Bounds<SubscriptionPeriod> {
        let bounds = try openBounds { place throws(RefundPolicyError) -> SubscriptionPeriod in
            guard let period = place.value.stringValue.flatMap({ SubscriptionPeriod(iso8601: $0) }) else {
                throw place.error("should be one component of an ISO 8601 duration, such as \"P30D\"")
            }
            return period
        }
        let start = Date(timeIntervalSince1970: 0)
        if let low = bounds.atLeast, let high = bounds.below, low.end(from: start) >= high.end(from: start) {
            throw error("should have a \"below\" that is greater than \"atLeast\"")
        }
        return bounds
    }

    private func openBounds<Value>(
        beside others: [String] = [], _ read: (RefundPolicyPlace) throws(RefundPolicyError) -> Value
    ) throws(RefundPolicyError) -> RefundPolicy.Bounds<Value> {
        try check(others + ["atLeast", "below"])
        var bounds = RefundPolicy.Bounds<Value>()
        if let place = self["atLeast"] { bounds.atLeast = try read(place) }
        if let place = self["below"] { bounds.below = try read(place) }
        guard bounds != .init() else { throw error("should have \"atLeast\", \"below\" or both") }
        return bounds
    }

    func units() throws(RefundPolicyError) -> [ProductID: Int] {
        guard case .object(let members) = value else { throw error("should give products their units") }
        var units: [ProductID: Int] = [:]
        for (name, _) in members {
            let place = member(name)
            guard let product = ProductID(rawValue: name) else {
                throw place.error("should have the name of a product, with \(ProductID.rule)")
            }
            units[product] = try place.integer(in: 1...1_000_000_000)
        }
        return units
    }
}

/// Percentages with at most three decimals, as integers in thousandths of a percent.
enum Percentage {
    static let rule = "a number from 0 to 100 with at most three decimals"

    static func thousandths(_ number: JSONNumber) -> Int? {
        guard let value = number.decimal.map({ $0 * 1000 }), value >= 0, value <= 100_000 else { return nil }
        return Int(exactly: NSDecimalNumber(decimal: value).int64Value).flatMap { Decimal($0) == value ? $0 : nil }
    }
}
