import Foundation
import Primitives
import StoreModel

/// One thing that is wrong or doubtful in a product list, with its place.
public struct ProductListFinding: Sendable, Equatable, CustomStringConvertible {
    /// Closed: an error keeps the list from being used, a warning does not.
    public enum Severity: String, Sendable { case error, warning }

    public let severity: Severity
    public let file: String
    /// RFC 6901.
    public let pointer: String
    public let reason: String

    public init(_ severity: Severity, file: String, pointer: String, reason: String) {
        self.severity = severity
        self.file = file
        self.pointer = pointer
        self.reason = reason
    }

    public var description: String { "\(file)\(pointer.isEmpty ? "" : " at \(pointer)"): \(reason)" }
}

extension ProductList {
    /// Everything that can be said about a product list; the list itself unless a finding is an error.
    public static func lint(_ bytes: [UInt8], file: String) -> (list: ProductList?, findings: [ProductListFinding]) {
        var reader = ProductListReader(file: file)
        let list = reader.read(bytes)
        return (reader.findings.contains { $0.severity == .error } ? nil : list, reader.findings)
    }
}

/// Reads the JSON and collects what is wrong with it.
private struct ProductListReader {
    let file: String
    var findings: [ProductListFinding] = []

    init(file: String) { self.file = file }

    mutating func read(_ bytes: [UInt8]) -> ProductList? {
        let document: JSONValue
        do {
            document = try JSONValue(parsing: bytes)
        } catch {
            fail("", "this is not JSON: \(error)")
            return nil
        }
        guard let entries = document.arrayValue else {
            fail("", "a product list is an array of products")
            return nil
        }
        let parsed = entries.enumerated().compactMap { index, entry in product(entry, at: "/\(index)") }
        let list = ProductList(parsed.flatMap { [$0] + discounts(of: $0) })
        checkReferences(parsed, list)
        return list
    }

    private mutating func fail(_ pointer: String, _ reason: String) {
        findings.append(.init(.error, file: file, pointer: pointer, reason: reason))
    }

    private mutating func warn(_ pointer: String, _ reason: String) {
        findings.append(.init(.warning, file: file, pointer: pointer, reason: reason))
    }

    private mutating func product(_ entry: JSONValue, at pointer: String) -> ListedProduct? {
        guard case .object(let members) = entry else {
            fail(pointer, "a product is an object")
            return nil
        }
        guard let id = identifier(members["identifier"], at: pointer + "/identifier") else { return nil }
        for name in members.keys where !Self.fields.contains(name) {
            let escaped = name.replacing("~", with: "~0").replacing("/", with: "~1")
            warn("\(pointer)/\(escaped)", "\"\(name)\" is not a field of a product and counts for nothing")
        }
        guard let text = members["productType"]?.stringValue else {
            let fault = members["productType"] == nil ? "productType is missing" : "productType is a text"
            fail(pointer + "/productType", "\(fault); it is one of \(Self.types)")
            return nil
        }
        guard let type = ListedProduct.ProductType(rawValue: text) else {
            fail(pointer + "/productType", "\"\(text)\" is not a productType; it is one of \(Self.types)")
            return nil
        }
        if members["enablesProducts"] != nil, !type.isSubscription {
            warn(pointer + "/enablesProducts", "only a subscription enables products; \"\(id)\" is none")
        }
        return ListedProduct(
            id: id, productType: type,
            isSubscribersOnly: flag(members, "isSubscribersOnly", pointer),
            preAcquired: flag(members, "preAcquired", pointer),
            preAcquiredViaSubscription: flag(members, "preAcquiredViaSubscription", pointer),
            enablesProducts: members["enablesProducts"].flatMap { texts($0, at: pointer + "/enablesProducts") },
            discountedProducts: discountedIDs(
                members["discountedProducts"], of: id, at: pointer + "/discountedProducts"),
            contentFetcherParameters: content(
                members["contentFetcherParameters"], pointer + "/contentFetcherParameters"))
    }

    private static let fields: Set<String> = [
        "identifier", "productType", "isSubscribersOnly", "preAcquired", "preAcquiredViaSubscription",
        "enablesProducts", "discountedProducts", "contentFetcherParameters",
    ]
    private static let types = ListedProduct.ProductType.allCases.map(\.rawValue).joined(separator: ", ")

    private mutating func identifier(_ value: JSONValue?, at pointer: String) -> ProductID? {
        guard let text = value?.stringValue else {
            fail(pointer, value == nil ? "the product has no identifier" : "an identifier is a text")
            return nil
        }
        guard let id = ProductID(rawValue: text) else {
            fail(pointer, "an identifier has 1 to 255 bytes and no control characters")
            return nil
        }
        return id
    }

    private mutating func flag(_ members: JSONMembers, _ name: String, _ pointer: String) -> Bool {
        guard let value = members[name] else { return false }
        guard let flag = value.boolValue else {
            fail("\(pointer)/\(name)", "\(name) is true or false")
            return false
        }
        return flag
    }

    private mutating func texts(_ value: JSONValue, at pointer: String) -> [String]? {
        guard let elements = value.arrayValue else {
            fail(pointer, "this is an array of texts")
            return nil
        }
        return elements.enumerated().compactMap { index, element in
            if element.stringValue == nil { fail("\(pointer)/\(index)", "this is a text") }
            return element.stringValue
        }
    }

    private mutating func discountedIDs(_ value: JSONValue?, of id: ProductID, at pointer: String) -> [ProductID] {
        guard let value, let elements = texts(value, at: pointer) else { return [] }
        return elements.enumerated().compactMap { index, text in
            guard let discount = ProductID(rawValue: text) else {
                fail("\(pointer)/\(index)", "a discount needs an identifier of 1 to 255 bytes")
                return nil
            }
            guard discount != id else {
                fail("\(pointer)/\(index)", "a product cannot be a discount of itself")
                return nil
            }
            return discount
        }
    }

    private mutating func content(_ value: JSONValue?, _ pointer: String) -> JSONObject? {
        guard let value else { return nil }
        guard let members = value.objectValue else {
            fail(pointer, "contentFetcherParameters is an object")
            return nil
        }
        guard let type = members["type"]?.stringValue, !type.isEmpty else {
            fail(pointer + "/type", "the way content is fetched (type) is missing")
            return nil
        }
        if let text = members["URL"]?.stringValue, URL(string: text)?.host?.isEmpty ?? true, !text.hasPrefix("file:") {
            warn(pointer + "/URL", "\"\(text)\" has no host, so \(type) can fetch nothing from it")
        }
        return members
    }

    private func discounts(of product: ListedProduct) -> [ListedProduct] {
        product.discountedProducts.map { id in
            var discount = product
            discount.id = id
            discount.discountedProducts = []
            discount.fullPriceProduct = product.id
            return discount
        }
    }

    private mutating func checkReferences(_ parsed: [ListedProduct], _ list: ProductList) {
        var seen: [ProductID: String] = [:]
        for (index, product) in parsed.enumerated() {
            let places =
                [(product.id, "/\(index)/identifier")]
                + product.discountedProducts.enumerated().map { ($1, "/\(index)/discountedProducts/\($0)") }
            for (id, pointer) in places {
                if let first = seen[id] {
                    fail(pointer, "\"\(id)\" stands in the list already, at \(first)")
                } else {
                    seen[id] = pointer
                }
            }
            let subscribesNobody = !list.products.contains { $0.enables(product.id) }
            if product.isSubscribersOnly, subscribesNobody {
                warn("/\(index)/isSubscribersOnly", "no subscription in the list enables \"\(product.id)\"")
            }
        }
    }
}
