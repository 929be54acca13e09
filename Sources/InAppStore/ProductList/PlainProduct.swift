import Primitives
import StoreModel

/// The products that only have an id, a type and flags, in plain JSON. Most products of a long list are like this. They
/// are read directly from the bytes of the file, without a `JSONValue`.
///
/// `ProductListReader` reads all other products, and those with any fault, and reports the faults.
enum PlainProduct {
    private struct Members {
        var id: ProductID?
        var type: ProductType?
        var isSubscribersOnly: Bool?
        var preAcquired: Bool?
        var preAcquiredViaSubscription: Bool?
    }

    /// Reads the next product if it is plain and has no fault. Otherwise returns `nil`, and the position is unchanged.
    static func next(of elements: inout JSONElements) -> ListedProduct? {
        let before = elements
        var members = Members()
        guard elements.nextPlainObject({ read($0, $1, into: &members) }), let id = members.id, let type = members.type
        else {
            elements = before
            return nil
        }
        return ListedProduct(
            id: id, productType: type, isSubscribersOnly: members.isSubscribersOnly ?? false,
            preAcquired: members.preAcquired ?? false,
            preAcquiredViaSubscription: members.preAcquiredViaSubscription ?? false)
    }

    /// Returns `false` for a member that another reader must read, and for one that appears twice.
    private static func read(
        _ name: UnsafeBufferPointer<UInt8>, _ value: JSONElements.PlainValue, into members: inout Members
    ) -> Bool {
        switch value {
        case .string(let text):
            if name.equals("identifier"), members.id == nil {
                members.id = ProductID(rawValue: String(decoding: text, as: UTF8.self))
                return members.id != nil
            }
            guard name.equals("productType"), members.type == nil else { return false }
            members.type = types.first { text.elementsEqual($0.word) }?.type
            return members.type != nil
        case .bool(let flag):
            if name.equals("isSubscribersOnly") { return set(&members.isSubscribersOnly, flag) }
            if name.equals("preAcquired") { return set(&members.preAcquired, flag) }
            return name.equals("preAcquiredViaSubscription") && set(&members.preAcquiredViaSubscription, flag)
        }
    }

    private static func set(_ member: inout Bool?, _ flag: Bool) -> Bool {
        guard member == nil else { return false }
        member = flag
        return true
    }

    /// The names of the types as bytes.
    private static let types = ProductType.listNames.map { (type: $0.type, word: Array($0.word.utf8)) }
}

extension UnsafeBufferPointer<UInt8> {
    fileprivate func equals(_ text: StaticString) -> Bool {
        count == text.utf8CodeUnitCount
            && elementsEqual(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }
}
