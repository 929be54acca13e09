import Foundation
import StoreModel

/// The content of a receipt: a set of attributes (Apple: Receipt Fields; ASN.1 of the payload format).
///
///     ReceiptAttribute ::= SEQUENCE { type INTEGER, version INTEGER, value OCTET STRING }
///     Payload ::= SET OF ReceiptAttribute
///
/// What stands in the set must be attributes; what an attribute's value is, even of one that is known, is never a reason to
/// refuse the receipt: it is kept as it came.
struct ReceiptPayload {
    let receipt: AppReceipt
    /// The value of the bundle id's attribute as it came: it goes into the device hash.
    let encodedBundleID: ArraySlice<UInt8>

    /// Throws `payloadMalformed`, or `tooLarge` for more attributes than `maximumAttributes`, those of purchases included.
    init(_ payload: ArraySlice<UInt8>, maximumAttributes: Int) throws(SignedDataError) {
        let result = payload.withUnsafeBytes { bytes in
            Result<ReceiptPayload, SignedDataError> { () throws(SignedDataError) in
                try ReceiptPayload(payload, bytes, maximumAttributes: maximumAttributes)
            }
        }
        self = try result.get()
    }

    private init(
        _ payload: ArraySlice<UInt8>, _ bytes: UnsafeRawBufferPointer, maximumAttributes: Int
    ) throws(SignedDataError) {
        var decoder = ReceiptDecoder(payload: payload, bytes: bytes, attributesLeft: maximumAttributes)
        var receipt = AppReceipt()
        do {
            try decoder.decode(&receipt)
        } catch {
            guard !decoder.hasTooMany else {
                throw SignedDataError(
                    .tooLarge, "The receipt has more than \(maximumAttributes) attributes.", underlying: error)
            }
            throw SignedDataError(
                .payloadMalformed, "The receipt's content is not a set of attributes: \(error).", underlying: error)
        }
        self.receipt = receipt
        encodedBundleID = decoder.encodedBundleID
    }
}

/// Reads attributes into the members of receipts and purchases.
private struct ReceiptDecoder {
    let payload: ArraySlice<UInt8>
    let bytes: UnsafeRawBufferPointer
    var attributesLeft: Int
    var encodedBundleID: ArraySlice<UInt8> = []
    private(set) var hasTooMany = false
    /// The last product read: purchases of one product often follow each other, and share its text then.
    private var lastProduct: (place: Range<Int>, id: ProductID)?

    init(payload: ArraySlice<UInt8>, bytes: UnsafeRawBufferPointer, attributesLeft: Int) {
        self.payload = payload
        self.bytes = bytes
        self.attributesLeft = attributesLeft
    }

    /// One attribute in place.
    private struct Attribute {
        let type: Int
        let version: Int
        let value: ReceiptValue
    }

    /// The attributes of a set, one after the other. What is signed may be BER in any form.
    private struct Attributes {
        var reader: BERReader

        init(_ bytes: UnsafeRawBufferPointer, in range: Range<Int>) throws(BERError) {
            var outer = BERReader(bytes, in: range, rules: .basic)
            let set = try outer.read(BERTag.set)
            try outer.requireEnd()
            reader = outer.inside(set)
        }

        mutating func next() throws(BERError) -> Attribute? {
            if reader.isAtEnd { return nil }
            var parts = reader.inside(try reader.read(BERTag.sequence))
            let type = try parts.readInteger()
            let version = try parts.readInteger()
            let value = try parts.read(BERTag.octetString)
            try parts.requireEnd()
            return Attribute(
                type: Int(truncatingIfNeeded: type), version: Int(truncatingIfNeeded: version),
                value: ReceiptValue(bytes: reader.bytes, place: value.content))
        }
    }

    private mutating func count() throws(BERError) {
        attributesLeft -= 1
        guard attributesLeft >= 0 else {
            hasTooMany = true
            throw BERError(position: 0, problem: "too many attributes")
        }
    }

    private func copy(_ place: Range<Int>) -> ArraySlice<UInt8> {
        payload[payload.startIndex + place.lowerBound..<payload.startIndex + place.upperBound]
    }

    private func kept(_ attribute: Attribute) -> ReceiptAttribute {
        ReceiptAttribute(type: attribute.type, version: attribute.version, value: copy(attribute.value.place))
    }

    mutating func decode(_ receipt: inout AppReceipt) throws(BERError) {
        var attributes = try Attributes(bytes, in: 0..<bytes.count)
        while let attribute = try attributes.next() {
            try count()
            if try !take(attribute, into: &receipt) { receipt.otherAttributes.append(kept(attribute)) }
        }
    }

    /// `false` when the attribute has no member, its member has a value already, or the value does not fit.
    private mutating func take(_ attribute: Attribute, into receipt: inout AppReceipt) throws(BERError) -> Bool {
        let value = attribute.value
        switch attribute.type {
        case 0: return set(&receipt.receiptType, value.text)
        case 2:
            let isFirst = receipt.bundleID == nil
            let isTaken = set(&receipt.bundleID, value.text.flatMap { BundleID(rawValue: $0) })
            if isFirst, receipt.bundleID != nil { encodedBundleID = copy(value.place) }
            return isTaken
        case 3: return set(&receipt.appVersion, value.text)
        case 4: return set(&receipt.opaqueValue, value.octets)
        case 5: return set(&receipt.sha1Hash, value.octets)
        case 12: return set(&receipt.creationDate, value.date)
        case 17:
            receipt.inAppPurchases.append(try purchase(in: value.place))
            return true
        case 19: return set(&receipt.originalAppVersion, value.text)
        case 21: return set(&receipt.expirationDate, value.date)
        default: return false
        }
    }

    private mutating func purchase(in place: Range<Int>) throws(BERError) -> AppReceipt.InAppPurchase {
        var purchase = AppReceipt.InAppPurchase()
        var attributes = try Attributes(bytes, in: place)
        while let attribute = try attributes.next() {
            try count()
            if take(attribute, into: &purchase) { continue }
            if purchase.otherAttributes.isEmpty { purchase.otherAttributes.reserveCapacity(8) }
            purchase.otherAttributes.append(kept(attribute))
        }
        return purchase
    }

    private mutating func take(_ attribute: Attribute, into purchase: inout AppReceipt.InAppPurchase) -> Bool {
        let value = attribute.value
        switch attribute.type {
        case 1701: return set(&purchase.quantity, value.integer.flatMap { Int(exactly: $0) })
        case 1702: return set(&purchase.productID, product(value))
        case 1703: return set(&purchase.transactionID, value.text.flatMap { TransactionID(rawValue: $0) })
        case 1704: return set(&purchase.purchaseDate, value.date)
        case 1705: return set(&purchase.originalTransactionID, value.text.flatMap { TransactionID(rawValue: $0) })
        case 1706: return set(&purchase.originalPurchaseDate, value.date)
        case 1707: return set(&purchase.productType, value.integer.flatMap { .init(rawValue: Int($0)) })
        case 1708: return set(&purchase.expiresDate, value.date)
        case 1711: return set(&purchase.webOrderLineItemID, value.integerText)
        case 1712: return set(&purchase.cancellationDate, value.date)
        case 1713: return set(&purchase.isTrialPeriod, value.integer.flatMap { $0 != 0 })
        case 1719: return set(&purchase.isInIntroOfferPeriod, value.integer.flatMap { $0 != 0 })
        case 1721: return set(&purchase.promotionalOfferID, value.text)
        default: return false
        }
    }

    /// Whether the attribute is done with: its value is now the member's, or it was empty.
    private func set<Value>(_ member: inout Value?, _ value: ReceiptValue.Reading<Value>) -> Bool {
        switch value {
        case .empty: return true
        case .unfit: return false
        case .value(let value):
            guard member == nil else { return false }
            member = value
            return true
        }
    }

    private mutating func product(_ value: ReceiptValue) -> ReceiptValue.Reading<ProductID> {
        if let lastProduct, bytes.areEqual(lastProduct.place, value.place) { return .value(lastProduct.id) }
        let reading = value.text.flatMap { ProductID(rawValue: $0) }
        if case .value(let id) = reading { lastProduct = (value.place, id) }
        return reading
    }
}
