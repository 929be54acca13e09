import Primitives

/// The credits that products give and that items cost. The developer of an app writes them beside the feature map.
///
///     {"credits": {"coins": {"products": {"com.example.coins.100": 100}, "prices": {"filter": 5, "frame": 12}}}}
public struct CreditTable: Hashable, Sendable {
    /// One kind of credit.
    package struct Credit: Hashable, Sendable {
        /// The units of credit that each product gives, for a quantity of one.
        package var products: [ProductID: Int]
        /// The cost of each type of item.
        package var prices: [String: Int]

        package init(products: [ProductID: Int], prices: [String: Int]) {
            self.products = products
            self.prices = prices
        }

        /// Returns the units that a purchase gave, whether they were refunded later or not.
        package func given(by purchase: CustomerPurchase) -> Int {
            let (bought, isTooMuch) = purchase.quantity.addingReportingOverflow(purchase.refundedQuantity ?? 0)
            return isTooMuch ? .max : amount(of: bought, purchase.productID)
        }

        /// Returns the units that a purchase gave and that were not refunded.
        package func left(of purchase: CustomerPurchase) -> Int {
            purchase.revokedAt == nil ? amount(of: purchase.quantity, purchase.productID) : 0
        }

        private func amount(of quantity: Int, _ product: ProductID) -> Int {
            let (amount, isTooMuch) = (products[product] ?? 0).multipliedReportingOverflow(by: quantity)
            return isTooMuch ? .max : amount
        }
    }

    /// The kinds of credit, by the name that paths contain.
    package let credits: [String: Credit]

    package init(credits: [String: Credit]) { self.credits = credits }

    /// Creates a table without credits.
    public init() { credits = [:] }

    /// The largest amount or price. It keeps sums from overflowing.
    private static let largest = 1_000_000_000

    /// Creates a table from the member `credits` of a feature file. Without this member the table has no credits.
    ///
    /// - Parameter json: The feature file.
    /// - Throws: An error that describes the first fault and its JSON pointer.
    public init(json: JSONValue) throws {
        guard let member = json["credits"] else {
            self.init()
            return
        }
        guard case .object(let entries) = member else {
            throw FeatureMapError(pointer: "/credits", reason: "should be an object with each kind of credit")
        }
        var credits: [String: Credit] = [:]
        for (name, value) in entries {
            let pointer = FeatureMapError.pointer("/credits", name)
            guard ProductID(rawValue: name) != nil else {
                throw FeatureMapError(pointer: pointer, reason: "should have a name with \(ProductID.rule)")
            }
            var products: [ProductID: Int] = [:]
            for (product, amount) in try Self.amounts(value["products"], at: "\(pointer)/products") {
                products[ProductID(unchecked: product)] = amount
            }
            credits[name] = Credit(
                products: products, prices: try Self.amounts(value["prices"], at: "\(pointer)/prices"))
        }
        self.init(credits: credits)
    }

    private static func amounts(_ value: JSONValue?, at pointer: String) throws(FeatureMapError) -> [String: Int] {
        guard case .object(let entries) = value else {
            throw FeatureMapError(pointer: pointer, reason: "should be an object with a number for each name")
        }
        var amounts: [String: Int] = [:]
        for (name, value) in entries {
            guard ProductID(rawValue: name) != nil, let amount = value.intValue, (0...largest).contains(amount) else {
                throw FeatureMapError(
                    pointer: FeatureMapError.pointer(pointer, name),
                    reason: "should give a name with \(ProductID.rule) a whole number from 0 to \(largest)")
            }
            amounts[name] = amount
        }
        return amounts
    }
}
