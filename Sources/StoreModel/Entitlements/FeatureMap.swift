import Primitives

/// The features that each product gives. The developer of an app writes the map once.
///
///     {"features": {"pro": ["com.example.pro.monthly", "com.example.pro.yearly"]}}
///
/// A product that is in no feature gives a feature with its own identifier. A consumable that is in no feature gives
/// none.
public struct FeatureMap: Hashable, Sendable {
    /// The products of each feature, by the feature's name.
    public let features: [String: [ProductID]]
    private let byProduct: [ProductID: [String]]

    /// Creates a map.
    ///
    /// - Parameter features: The products of each feature, by the feature's name.
    public init(features: [String: [ProductID]] = [:]) {
        self.features = features
        var byProduct: [ProductID: [String]] = [:]
        for (feature, products) in features {
            for product in Set(products) { byProduct[product, default: []].append(feature) }
        }
        self.byProduct = byProduct.mapValues { $0.sorted() }
    }

    /// Returns the features that a product gives, in the order of their names.
    ///
    /// - Parameters:
    ///   - product: The product.
    ///   - kind: The kind of the product. It matters for a product that is in no feature.
    /// - Returns: The names of the features.
    public func features(of product: ProductID, kind: ProductType) -> [String] {
        if let mapped = byProduct[product] { return mapped }
        return kind == .consumable ? [] : [product.rawValue]
    }
}

/// A fault in a feature map or credit table, with its place.
package struct FeatureMapError: Error, Equatable, CustomStringConvertible {
    /// A JSON pointer (RFC 6901). It is empty for the document itself.
    package let pointer: String
    /// The fault and the expected value, in words that follow the pointer.
    package let reason: String

    package init(pointer: String, reason: String) {
        self.pointer = pointer
        self.reason = reason
    }

    package var description: String { "\(pointer.isEmpty ? "The feature map" : pointer) \(reason)." }
}

extension FeatureMap {
    /// Creates a map from the bytes of a feature map file.
    ///
    /// - Parameter bytes: The JSON document.
    /// - Throws: An error that describes the first fault and its JSON pointer.
    public init(parsing bytes: some Sequence<UInt8>) throws {
        let json: JSONValue
        do {
            json = try JSONValue(parsing: bytes)
        } catch {
            throw FeatureMapError(pointer: "", reason: "is not JSON: \(error)")
        }
        try self.init(json: json)
    }

    /// Creates a map from a parsed feature map file. Members other than `features` are ignored.
    ///
    /// - Parameter json: The JSON document.
    /// - Throws: An error that describes the first fault and its JSON pointer.
    public init(json: JSONValue) throws {
        guard case .object(let document) = json, let member = document["features"] else {
            throw FeatureMapError(pointer: "", reason: "should be an object with the member \"features\"")
        }
        guard case .object(let entries) = member else {
            throw FeatureMapError(
                pointer: "/features", reason: "should be an object that gives each feature its list of product ids")
        }
        var features: [String: [ProductID]] = [:]
        for (name, value) in entries {
            let pointer = FeatureMapError.pointer("/features", name)
            guard ProductID(rawValue: name) != nil else {
                throw FeatureMapError(
                    pointer: pointer, reason: "should have a name with \(ProductID.rule)")
            }
            features[name] = try Self.products(value, at: pointer)
        }
        self.init(features: features)
    }

    private static func products(_ value: JSONValue, at pointer: String) throws(FeatureMapError) -> [ProductID] {
        guard case .array(let elements) = value else {
            throw FeatureMapError(pointer: pointer, reason: "should be a list of product ids")
        }
        var products: [ProductID] = []
        for (index, element) in elements.enumerated() {
            guard let text = element.stringValue, let product = ProductID(rawValue: text) else {
                throw FeatureMapError(
                    pointer: "\(pointer)/\(index)",
                    reason: "should be a product id: a string with \(ProductID.rule)")
            }
            guard !products.contains(product) else {
                throw FeatureMapError(pointer: "\(pointer)/\(index)", reason: "names \(product) a second time")
            }
            products.append(product)
        }
        return products
    }
}

extension FeatureMapError {
    /// Returns the JSON pointer to the member `name` of `parent`.
    static func pointer(_ parent: String, _ name: String) -> String { JSONPointer.member(name, of: parent) }
}
