import Foundation
import PluginHub
import Primitives
import StoreModel

/// A problem in a product list, with its place.
public struct ProductListFinding: Sendable, Equatable, CustomStringConvertible {
    /// The severity: an error must be fixed before the list is shipped, a warning needs a review. The enum is closed.
    public typealias Severity = Hub.Finding.Severity

    /// The severity of the problem.
    public let severity: Severity
    /// The name of the file.
    public let file: String
    /// The place of the problem, as a JSON pointer (RFC 6901).
    public let pointer: String
    /// A sentence about the problem.
    public let reason: String

    /// Creates a finding.
    ///
    /// - Parameters:
    ///   - severity: The severity of the problem.
    ///   - file: The name of the file.
    ///   - pointer: The place of the problem, as a JSON pointer (RFC 6901).
    ///   - reason: A sentence about the problem.
    public init(_ severity: Severity, file: String, pointer: String, reason: String) {
        self.severity = severity
        self.file = file
        self.pointer = pointer
        self.reason = reason
    }

    public var description: String { "\(file)\(pointer.isEmpty ? "" : " at \(pointer)"): \(reason)" }
}

/// The settings of the product list linter for an app.
public struct ProductListRules {
    /// A regular expression that each id must match completely, except those of variants.
    package let identifiers: Pattern?
    /// The `type`s of the content fetchers that the app registers itself.
    public var ownFetchers: Set<String>
    /// The products that the store sells, for example from the app's StoreKit catalogue; `nil` if they are unknown.
    public var sold: [ProductID: StoreProduct]?

    /// Creates rules without a pattern for ids.
    ///
    /// - Parameters:
    ///   - ownFetchers: The `type`s of the content fetchers that the app registers itself.
    ///   - sold: The products that the store sells; `nil` if they are unknown.
    public init(ownFetchers: Set<String> = [], sold: [StoreProduct]? = nil) {
        self.init(matching: nil, ownFetchers: ownFetchers, sold: sold)
    }

    /// Creates rules with a pattern for ids.
    ///
    /// - Parameters:
    ///   - identifiers: A regular expression that each id must match completely, except those of variants.
    ///   - ownFetchers: The `type`s of the content fetchers that the app registers itself.
    ///   - sold: The products that the store sells; `nil` if they are unknown.
    /// - Throws: The error of `Regex` for an invalid expression.
    public init(identifiers: String, ownFetchers: Set<String> = [], sold: [StoreProduct]? = nil) throws {
        self.init(matching: try Pattern(identifiers), ownFetchers: ownFetchers, sold: sold)
    }

    package init(matching identifiers: Pattern?, ownFetchers: Set<String>, sold: [StoreProduct]?) {
        self.identifiers = identifiers
        self.ownFetchers = ownFetchers
        self.sold = sold.map { Dictionary($0.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first }) }
    }

    package struct Pattern {
        package let text: String
        private let expression: Regex<AnyRegexOutput>

        /// Creates a pattern. Throws the error of `Regex` for an invalid expression.
        package init(_ text: String) throws {
            self.text = text
            expression = try Regex(text)
        }

        func matches(_ id: ProductID) -> Bool { id.rawValue.wholeMatch(of: expression) != nil }
    }
}

extension ProductList {
    /// Checks a product list. Finds all errors that prevent its use, and wrong or doubtful entries in a valid list.
    ///
    /// - Parameters:
    ///   - bytes: The bytes of the file.
    ///   - file: The name of the file in findings.
    ///   - rules: The settings of the linter.
    ///   - decryptor: Decrypts the list; `nil` if it is not encrypted.
    /// - Returns: The list if it is valid, and the findings. Pointers refer to the decrypted JSON.
    public static func lint(
        _ bytes: [UInt8], file: String, rules: ProductListRules = ProductListRules(),
        decryptor: (any ProductListDecryptor)? = nil
    ) -> (list: ProductList?, findings: [ProductListFinding]) {
        let json: [UInt8]
        do {
            json =
                try EncryptedProductList.recognizes(bytes)
                ? EncryptedProductList.json(of: bytes, decryptor: decryptor) : bytes
        } catch {
            return (nil, [.init(.error, file: file, pointer: "", reason: error.reason)])
        }
        var reader = ProductListReader(file: file)
        guard let list = reader.read(json) else { return (nil, reader.findings) }
        var linter = ProductListLinter(file: file, list: list, rules: rules)
        for entry in reader.entries { linter.check(entry) }
        return (list, reader.findings + linter.findings)
    }
}

/// Finds wrong entries in a valid list.
private struct ProductListLinter {
    let file: String
    let list: ProductList
    let rules: ProductListRules
    private(set) var findings: [ProductListFinding] = []
    /// All prefixes that any subscription enables.
    private let enabled: PrefixSet
    /// The ids of all products except subscriptions, sorted by their bytes.
    private let identifiers: [String]

    init(file: String, list: ProductList, rules: ProductListRules) {
        self.file = file
        self.list = list
        self.rules = rules
        enabled = PrefixSet(
            list.products.lazy.filter(\.productType.isSubscription).flatMap { $0.enablesProducts ?? [""] })
        identifiers = list.products.lazy.filter { !$0.productType.isSubscription }.map(\.id.rawValue)
            .sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    private mutating func add(_ severity: ProductListFinding.Severity, _ pointer: String, _ reason: String) {
        findings.append(.init(severity, file: file, pointer: pointer, reason: reason))
    }

    mutating func check(_ entry: ProductListReader.Entry) {
        checkIdentifiers(entry)
        checkSubscribers(entry)
        checkPrefixes(entry)
        checkPeriods(entry)
        checkStore(entry)
        guard let parameters = entry.product.contentFetcherParameters else { return }
        let linter = ContentParametersLint(ownFetchers: rules.ownFetchers)
        for fault in linter.faults(parameters, at: "\(entry.pointer)/contentFetcherParameters") {
            add(fault.severity, fault.pointer, fault.reason)
        }
    }

    private mutating func checkIdentifiers(_ entry: ProductListReader.Entry) {
        guard let pattern = rules.identifiers else { return }
        let reason = "does not match \(pattern.text)"
        if !pattern.matches(entry.product.id) {
            add(.error, "\(entry.pointer)/identifier", "\"\(entry.product.id)\" \(reason)")
        }
        for (index, discount) in entry.product.discountedProducts.enumerated() where !pattern.matches(discount) {
            add(.error, "\(entry.pointer)/discountedProducts/\(index)", "\"\(discount)\" \(reason)")
        }
    }

    private mutating func checkSubscribers(_ entry: ProductListReader.Entry) {
        let product = entry.product
        let pointer = "\(entry.pointer)/isSubscribersOnly"
        guard product.isSubscribersOnly, !product.preAcquired else { return }
        if product.productType.isSubscription {
            add(.error, pointer, "a subscription cannot be for subscribers only: no customer could buy it")
        } else if !enabled.contains(prefixOf: product.id.rawValue) {
            add(
                .error, pointer, "no subscription in the list enables \"\(product.id)\", so no customer can get it")
        }
    }

    private mutating func checkPrefixes(_ entry: ProductListReader.Entry) {
        guard let prefixes = entry.product.enablesProducts else { return }
        let pointer = "\(entry.pointer)/enablesProducts"
        guard entry.product.productType.isSubscription else {
            add(
                .warning, pointer, "only a subscription enables products; \"\(entry.product.id)\" is not a subscription"
            )
            return
        }
        for (index, prefix) in prefixes.enumerated() where !beginsAnIdentifier(prefix) {
            add(.warning, "\(pointer)/\(index)", "no product's identifier begins with \"\(prefix)\"")
        }
    }

    private func beginsAnIdentifier(_ prefix: String) -> Bool {
        var (low, high) = (0, identifiers.count)
        while low < high {
            let middle = (low + high) / 2
            if identifiers[middle].utf8.lexicographicallyPrecedes(prefix.utf8) {
                low = middle + 1
            } else {
                high = middle
            }
        }
        return low < identifiers.count && identifiers[low].utf8.starts(with: prefix.utf8)
    }

    /// Checks that a discount has the same period as its product. Compares the periods at the store or, if they are
    /// unknown, the periods in the names. A difference between the names gives only a warning.
    private mutating func checkPeriods(_ entry: ProductListReader.Entry) {
        let product = entry.product
        let pointer = "\(entry.pointer)/discountedProducts"
        for (index, discount) in product.discountedProducts.enumerated() {
            let pointer = "\(pointer)/\(index)"
            if let own = rules.sold?[product.id]?.period, let other = rules.sold?[discount]?.period {
                guard own.inSmallestUnit != other.inSmallestUnit else { continue }
                add(
                    .error, pointer,
                    "at the store, the period of \"\(discount)\" is \(other.iso8601), but \(own.iso8601) at full price"
                )
            } else if let own = PeriodWord(in: product.id), let other = PeriodWord(in: discount), own != other {
                add(
                    .warning, pointer,
                    "the name of \"\(discount)\" says \(other.text), but the product at full price says \(own.text)")
            }
        }
    }

    private mutating func checkStore(_ entry: ProductListReader.Entry) {
        guard let sold = rules.sold, !entry.product.isSubscribersOnly else { return }
        for (index, discount) in entry.product.discountedProducts.enumerated() where sold[discount] == nil {
            add(.warning, "\(entry.pointer)/discountedProducts/\(index)", "the store does not sell \"\(discount)\"")
        }
        let product = entry.product
        guard let atStore = sold[product.id] else {
            add(.warning, "\(entry.pointer)/identifier", "the store does not sell \"\(product.id)\"")
            return
        }
        guard let word = atStore.kind.listName, atStore.kind != product.productType else { return }
        add(.error, "\(entry.pointer)/productType", "at the store \"\(product.id)\" is a \(word)")
    }
}

extension StoreProduct {
    fileprivate var period: SubscriptionPeriod? { subscription?.period }
}

extension SubscriptionPeriod {
    /// The period in days or months: a week is seven days, and a year twelve months.
    fileprivate var inSmallestUnit: SubscriptionPeriod {
        switch unit {
        case .week: .days(7 * value)
        case .year: .months(12 * value)
        default: self
        }
    }
}

/// The last word of an id that names a period: `Monthly` in `Pro.1MonthTrial.Monthly`.
private struct PeriodWord: Equatable {
    private static let days = [
        "daily": 1, "weekly": 7, "biweekly": 14, "monthly": 30, "bimonthly": 60, "quarterly": 90, "yearly": 365,
        "annual": 365, "annually": 365,
    ]
    let text: String
    private let days: Int

    init?(in id: ProductID) {
        let words = id.rawValue.split { !$0.isLetter && !$0.isNumber }.map { $0.lowercased() }
        guard let word = words.last(where: { Self.days[$0] != nil }), let days = Self.days[word] else { return nil }
        (text, self.days) = (word, days)
    }

    static func == (left: PeriodWord, right: PeriodWord) -> Bool { left.days == right.days }
}
