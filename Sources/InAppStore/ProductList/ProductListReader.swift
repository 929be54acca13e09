import PluginHub
import Primitives
import StoreModel

/// Reads the JSON of a product list. Collects its errors, and warns of unknown members.
struct ProductListReader {
    let file: String
    private(set) var findings: [ProductListFinding] = []
    /// The products of the file, each followed by those derived from it.
    private var products: [ListedProduct] = []
    /// The products of the file, by their places in `products`.
    private var origins: [Origin] = []
    private var namesFullPrice = false

    private struct Origin {
        let index: Int
        let place: Int
    }

    struct Entry {
        let index: Int
        let product: ListedProduct
        var pointer: String { "/\(index)" }
    }

    init(file: String) { self.file = file }

    /// The products of the file, without those derived from them.
    var entries: [Entry] { origins.map { Entry(index: $0.index, product: products[$0.place]) } }

    /// Reads the list; `nil` after an error.
    mutating func read(_ bytes: [UInt8]) -> ProductList? {
        do {
            let isArray: Void? = try JSONElements.reading(bytes) { elements throws(JSONError) in
                try readProducts(&elements)
            }
            guard isArray != nil else {
                fail("", "a product list must be an array of products")
                return nil
            }
        } catch {
            // Findings in a document that is not JSON would depend on the place of its error.
            (findings, products, origins) = ([], [], [])
            fail("", "this is not JSON: \(error)")
            return nil
        }
        let list = ProductList(products)
        if list.hasDuplicates { rejectDuplicates() }
        if namesFullPrice { checkFullPrices(in: list) }
        return findings.contains { $0.severity == .error } ? nil : list
    }

    private mutating func readProducts(_ elements: inout JSONElements) throws(JSONError) {
        var index = 0
        while true {
            if let plain = PlainProduct.next(of: &elements) {
                origins.append(Origin(index: index, place: products.count))
                products.append(plain)
            } else if let element = try elements.next() {
                if let product = product(element, at: "/\(index)") { add(product, index) }
            } else {
                return
            }
            index += 1
        }
    }

    private mutating func add(_ product: ListedProduct, _ index: Int) {
        origins.append(Origin(index: index, place: products.count))
        products += product.withDiscountsAndVariants
        if product.fullPriceProduct != nil { namesFullPrice = true }
    }

    private mutating func fail(_ pointer: String, _ reason: String) {
        findings.append(.init(.error, file: file, pointer: pointer, reason: reason))
    }

    private mutating func warn(_ pointer: String, _ reason: String) {
        findings.append(.init(.warning, file: file, pointer: pointer, reason: reason))
    }

    private static let fields = [
        "identifier", "productType", "isSubscribersOnly", "preAcquired", "preAcquiredViaSubscription",
        "enablesProducts", "discountedProducts", "fullPriceProductIdentifier", "variants", "contentFetcherParameters",
    ]
    private static let types = ProductType.listNames.map(\.word)

    private mutating func product(_ element: JSONValue, at pointer: String) -> ListedProduct? {
        guard case .object(let members) = element else {
            fail(pointer, "a product must be an object")
            return nil
        }
        warnOfUnknownFields(members, at: pointer)
        let id = identifier(members["identifier"], at: pointer + "/identifier")
        let type = productType(members["productType"], at: pointer + "/productType")
        guard let id, let type else { return nil }
        return ListedProduct(
            id: id, productType: type,
            isSubscribersOnly: flag("isSubscribersOnly", of: members, at: pointer),
            preAcquired: flag("preAcquired", of: members, at: pointer),
            preAcquiredViaSubscription: flag("preAcquiredViaSubscription", of: members, at: pointer),
            enablesProducts: members["enablesProducts"].map { value in
                texts(value, at: pointer + "/enablesProducts").map(\.text)
            },
            discountedProducts: discounts(members["discountedProducts"], of: id, at: pointer + "/discountedProducts"),
            fullPriceProduct: members["fullPriceProductIdentifier"].flatMap {
                identifier($0, at: pointer + "/fullPriceProductIdentifier")
            },
            variants: variants(members["variants"], of: id, at: pointer + "/variants"),
            contentFetcherParameters: content(
                members["contentFetcherParameters"], at: pointer + "/contentFetcherParameters"))
    }

    private mutating func warnOfUnknownFields(_ members: JSONMembers, at pointer: String) {
        for name in members.keys where !Self.fields.contains(name) {
            let reason =
                name == "priceInfo"
                ? "prices come from the store; priceInfo is ignored"
                : "\"\(name)\" is not a field of a product and is ignored."
                    + NearestName.hint(name, among: Self.fields)
            warn(JSONPointer.member(name, of: pointer), reason)
        }
    }

    private mutating func identifier(_ value: JSONValue?, at pointer: String) -> ProductID? {
        guard let text = value?.stringValue else {
            fail(pointer, value == nil ? "the product has no identifier" : "an identifier must be a string")
            return nil
        }
        guard let id = ProductID(rawValue: text) else {
            fail(pointer, "an identifier must have \(ProductID.rule)")
            return nil
        }
        return id
    }

    private mutating func productType(_ value: JSONValue?, at pointer: String) -> ProductType? {
        var types: String { Self.types.joined(separator: ", ") }
        guard let text = value?.stringValue else {
            fail(pointer, "productType is \(value == nil ? "missing" : "not a string"); it must be one of \(types)")
            return nil
        }
        guard let type = ProductType(listName: text) else {
            let hint = NearestName.hint(text, among: Self.types)
            fail(pointer, "\"\(text)\" is not a productType; it must be one of \(types).\(hint)")
            return nil
        }
        return type
    }

    private mutating func flag(_ name: String, of members: JSONMembers, at pointer: String) -> Bool {
        guard let value = members[name] else { return false }
        guard let flag = value.boolValue else {
            fail("\(pointer)/\(name)", "\(name) must be true or false")
            return false
        }
        return flag
    }

    /// Returns the strings of an array, each with its pointer.
    private mutating func texts(_ value: JSONValue?, at pointer: String) -> [(text: String, pointer: String)] {
        guard let value else { return [] }
        guard case .array(let elements) = value else {
            fail(pointer, "this must be an array of strings")
            return []
        }
        return elements.enumerated().compactMap { index, element in
            let pointer = "\(pointer)/\(index)"
            if element.stringValue == nil { fail(pointer, "this must be a string") }
            return element.stringValue.map { ($0, pointer) }
        }
    }

    private mutating func discounts(_ value: JSONValue?, of id: ProductID, at pointer: String) -> [ProductID] {
        if value?.arrayValue?.isEmpty == true { warn(pointer, "this contains no discount; remove it") }
        return texts(value, at: pointer).compactMap { text, pointer in
            guard let discount = ProductID(rawValue: text) else {
                fail(pointer, "a discount needs an identifier of \(ProductID.rule)")
                return nil
            }
            guard discount != id else {
                fail(pointer, "a product cannot be a discount of itself")
                return nil
            }
            return discount
        }
    }

    private mutating func variants(_ value: JSONValue?, of id: ProductID, at pointer: String) -> [String] {
        texts(value, at: pointer).map { suffix, pointer in
            if ListedProduct.variantID(suffix, of: id) == nil {
                fail(
                    pointer,
                    "a variant is a suffix of an identifier, not empty; the whole identifier must have \(ProductID.rule)"
                )
            }
            return suffix
        }
    }

    private mutating func content(_ value: JSONValue?, at pointer: String) -> JSONObject? {
        guard let value else { return nil }
        guard let members = value.objectValue else {
            fail(pointer, "contentFetcherParameters must be an object")
            return nil
        }
        guard let type = members["type"]?.stringValue, !type.isEmpty else {
            let fault = members["type"] == nil ? "is missing" : "must be a string that is not empty"
            fail(pointer + "/type", "the content fetcher (type) \(fault)")
            return nil
        }
        return members
    }

    private mutating func rejectDuplicates() {
        var seen: [ProductID: String] = [:]
        for entry in entries {
            for (id, pointer) in identifiers(of: entry) {
                if let first = seen[id] {
                    fail(pointer, "\"\(id)\" is already in the list, at \(first)")
                } else {
                    seen[id] = pointer
                }
            }
        }
    }

    /// Returns all ids that an entry defines, each with its pointer.
    private func identifiers(of entry: Entry) -> [(ProductID, String)] {
        let product = entry.product
        let prices =
            [(product.id, "\(entry.pointer)/identifier")]
            + product.discountedProducts.enumerated().map { ($1, "\(entry.pointer)/discountedProducts/\($0)") }
        let variants = product.variants.enumerated().flatMap { index, suffix in
            prices.compactMap { id, _ in
                ListedProduct.variantID(suffix, of: id).map { ($0, "\(entry.pointer)/variants/\(index)") }
            }
        }
        return prices + variants
    }

    private mutating func checkFullPrices(in list: ProductList) {
        for entry in entries {
            guard let fullPrice = entry.product.fullPriceProduct else { continue }
            let pointer = "\(entry.pointer)/fullPriceProductIdentifier"
            if fullPrice == entry.product.id {
                fail(pointer, "a product cannot be a discount of itself")
            } else if list[fullPrice] == nil {
                fail(pointer, "\"\(fullPrice)\" is not in the list")
            } else if list[fullPrice]?.fullPriceProduct != nil {
                fail(pointer, "\"\(fullPrice)\" is a discount itself; name the product at full price")
            }
        }
    }
}
