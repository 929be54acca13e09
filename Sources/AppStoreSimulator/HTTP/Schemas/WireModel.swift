import HTTPCore
import Primitives
import StoreModel

/// A type with a named schema.
protocol WireModel: SendableMetatype {
    static var schemaName: String { get }
    static var schema: WireSchema { get }
}

extension WireSchema {
    static func of(_ model: any WireModel.Type) -> WireSchema { named(model.schemaName) { model.schema } }

    static func array(of model: any WireModel.Type) -> WireSchema { array(of(model)) }
}

extension WireSchema {
    /// The name of an account, the id of a transaction and so on. JSON Schema counts characters, the simulator counts
    /// bytes.
    static let name = text(AccountName.rule, pattern: printable, length: 1...255, AccountName.isValid)
    /// The identifier of a product.
    static let product = text(ProductID.rule, pattern: printable, length: 1...255, ProductID.isValid)
    private static let printable = #"^[^\u0000-\u001F\u007F-\u009F]+$"#
    static let period = text(
        "one component of ISO 8601 such as \"P1M\"", pattern: "^P([1-9][0-9]{0,3}[DWMY]|T[1-9][0-9]{0,3}[HMS])$"
    ) { text in
        SubscriptionPeriod(iso8601: text).map { $0.value < 10_000 && $0.iso8601 == text } ?? false
    }.example("P1M")
    static let storefront = text("a country's store such as USA", pattern: "^[A-Z]{3}$") {
        $0.utf8.count == 3 && $0.utf8.allSatisfy { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }
    }.example("USA")
    /// An amount of money: at most six digits before the point and three after it.
    static let price = text("a price such as \"4.99\"", pattern: #"^(0|[1-9][0-9]{0,5})(\.[0-9]{1,3})?$"#) { text in
        let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        let areDigits = parts.allSatisfy { $0.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } }
        return areDigits && (1...2).contains(parts.count) && (1...6).contains(parts[0].count)
            && (parts[0].count == 1 || parts[0].first != UInt8(ascii: "0"))
            && (parts.count == 1 || (1...3).contains(parts[1].count))
    }.example("5.99")
    /// The value of a setting.
    static let scalar = WireSchema(
        ["type": ["string", "boolean", "number"]], "a string, a number, true or false"
    ) { $0.stringValue != nil || $0.boolValue != nil || $0.doubleValue != nil }
}
