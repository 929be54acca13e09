import Foundation
import StoreModel

/// The content of a receipt: a set of attributes (Apple: Receipt Fields; ASN.1 of the payload format).
///
///     ReceiptAttribute ::= SEQUENCE { type INTEGER, version INTEGER, value OCTET STRING }
///     Payload ::= SET OF ReceiptAttribute
///
/// The set must contain only attributes, and so must each purchase (17). If another value is unexpected, the attribute
/// is kept unchanged and the receipt is not refused, even if the attribute is a known one.
struct ReceiptPayload {
    let receipt: AppReceipt
    /// The unchanged value of the attribute with the bundle id, which is part of the device hash.
    let encodedBundleID: ArraySlice<UInt8>

    /// Decodes a payload. Throws `payloadMalformed`, or `tooLarge` for more than `maximumAttributes` attributes,
    /// including those of purchases.
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

/// Decodes attributes into the properties of receipts and purchases.
private struct ReceiptDecoder {
    let payload: ArraySlice<UInt8>
    let bytes: UnsafeRawBufferPointer
    var attributesLeft: Int
    var encodedBundleID: ArraySlice<UInt8> = []
    private(set) var hasTooMany = false
    private var product = Repeated<ProductID>()
    private var originalTransactionID = Repeated<TransactionID>()
    private var originalPurchaseDate = Repeated<Date>()

    init(payload: ArraySlice<UInt8>, bytes: UnsafeRawBufferPointer, attributesLeft: Int) {
        self.payload = payload
        self.bytes = bytes
        self.attributesLeft = attributesLeft
    }

    /// The attributes of a set, one after the other. The content may be any BER.
    ///
    /// The properties hold the current attribute: returning it as a value would cost as much as parsing it.
    private struct Attributes {
        private var reader: BERReader
        private(set) var type = 0
        private(set) var version = 0
        private var place = 0..<0

        init(_ bytes: UnsafeRawBufferPointer, in range: Range<Int>) throws(BERError) {
            var outer = BERReader(bytes, in: range, rules: .basic)
            if let content = outer.readQuickly(BERTag.set) {
                reader = outer.inside(content)
            } else {
                reader = outer.inside(try outer.read(BERTag.set))
            }
            try outer.requireEnd()
        }

        var value: ReceiptValue { ReceiptValue(bytes: reader.bytes, place: place) }

        /// Moves to the next attribute. Returns `false` at the end.
        @inline(__always)
        mutating func advance() throws(BERError) -> Bool {
            if reader.isAtEnd { return false }
            if let attribute = reader.readPlainAttribute() {
                (type, version, place) = (attribute.type, attribute.version, attribute.value)
                return true
            }
            let start = reader
            if advanceQuickly() { return true }
            reader = start
            try advanceSlowly()
            return true
        }

        private mutating func advanceSlowly() throws(BERError) {
            var parts = reader.inside(try reader.read(BERTag.sequence))
            type = Int(truncatingIfNeeded: try parts.readInteger())
            version = Int(truncatingIfNeeded: try parts.readInteger())
            place = try parts.read(BERTag.octetString).content
            try parts.requireEnd()
        }

        /// Moves to the next attribute if it is in the usual form.
        @inline(__always)
        private mutating func advanceQuickly() -> Bool {
            guard let content = reader.readQuickly(BERTag.sequence) else { return false }
            var parts = reader.inside(content)
            guard let type = parts.readQuickly(BERTag.integer).flatMap({ parts.smallInteger($0) }),
                let version = parts.readQuickly(BERTag.integer).flatMap({ parts.smallInteger($0) }),
                let value = parts.readQuickly(BERTag.octetString), parts.isAtEnd
            else { return false }
            (self.type, self.version, place) = (type, version, value)
            return true
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

    /// Stores an attribute that has no property. The payload is passed only once, because each pass would change its
    /// reference count.
    private func store(_ attributes: Attributes, in others: inout ReceiptAttributes) {
        if others.isEmpty { others = ReceiptAttributes(of: payload) }
        others.append(type: attributes.type, version: attributes.version, place: attributes.value.place)
    }

    mutating func decode(_ receipt: inout AppReceipt) throws(BERError) {
        var attributes = try Attributes(bytes, in: 0..<bytes.count)
        while try attributes.advance() {
            try count()
            if try !take(attributes.type, attributes.value, into: &receipt) {
                store(attributes, in: &receipt.otherAttributes)
            }
        }
    }

    /// Returns `false` if the attribute has no property, its property has a value already, or the value does not fit.
    private mutating func take(
        _ type: Int, _ value: ReceiptValue, into receipt: inout AppReceipt
    ) throws(BERError) -> Bool {
        switch type {
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
            if receipt.inAppPurchases.isEmpty { receipt.inAppPurchases.reserveCapacity(bytes.count / 400 + 1) }
            receipt.inAppPurchases.append(AppReceipt.InAppPurchase())
            try decode(&receipt.inAppPurchases[receipt.inAppPurchases.endIndex - 1], in: value.place)
            return true
        case 19: return set(&receipt.originalAppVersion, value.text)
        case 21: return set(&receipt.expirationDate, value.date)
        default: return false
        }
    }

    private mutating func decode(
        _ purchase: inout AppReceipt.InAppPurchase, in place: Range<Int>
    ) throws(BERError) {
        var attributes = try Attributes(bytes, in: place)
        while try attributes.advance() {
            try count()
            if take(attributes.type, attributes.value, into: &purchase) { continue }
            store(attributes, in: &purchase.otherAttributes)
        }
    }

    private mutating func take(
        _ type: Int, _ value: ReceiptValue, into purchase: inout AppReceipt.InAppPurchase
    ) -> Bool {
        switch type {
        case 1701: return set(&purchase.quantity, value.integer.flatMap { Int(exactly: $0) })
        case 1702: return set(&purchase.productID, product.reading(value) { $0.identifier() })
        case 1703: return set(&purchase.transactionID, value.identifier())
        case 1704: return set(&purchase.purchaseDate, value.date)
        case 1705:
            return set(&purchase.originalTransactionID, originalTransactionID.reading(value) { $0.identifier() })
        case 1706: return set(&purchase.originalPurchaseDate, originalPurchaseDate.reading(value) { $0.date })
        case 1707: return set(&purchase.productType, value.integer.flatMap { .init(receiptNumber: Int($0)) })
        case 1708: return set(&purchase.expiresDate, value.date)
        case 1711: return set(&purchase.webOrderLineItemID, value.integerText)
        case 1712: return set(&purchase.cancellationDate, value.date)
        case 1713: return set(&purchase.isTrialPeriod, value.integer.flatMap { $0 != 0 })
        case 1719: return set(&purchase.isInIntroOfferPeriod, value.integer.flatMap { $0 != 0 })
        case 1721: return set(&purchase.promotionalOfferID, value.text)
        default: return false
        }
    }

    /// Returns whether the attribute is complete: its value was stored, or it was empty.
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
}

/// A value that repeats from purchase to purchase. Renewals of one subscription are adjacent, with the same product and
/// original transaction, which are then decoded once.
private struct Repeated<Value> {
    private var last: (place: Range<Int>, value: Value)?

    /// Returns the result of `read` for a value, or the previous result if the octets are the same.
    mutating func reading(
        _ value: ReceiptValue, _ read: (ReceiptValue) -> ReceiptValue.Reading<Value>
    ) -> ReceiptValue.Reading<Value> {
        if let last, value.bytes.areEqual(last.place, value.place) { return .value(last.value) }
        let reading = read(value)
        if case .value(let read) = reading { last = (value.place, read) }
        return reading
    }
}

extension BERReader {
    /// Reads the next element if it is an attribute in the most common form: all lengths in one octet, the number in
    /// two, the version in one. Otherwise returns `nil` and reads nothing.
    ///
    ///     30 len  02 02 type type  02 01 version  04 len value…
    @inline(__always)
    mutating func readPlainAttribute() -> (type: Int, version: Int, value: Range<Int>)? {
        guard end &- position >= 11 else { return nil }
        // Compares all fixed octets at once; the first octet is the lowest.
        let head = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self))
        let type = Int(head >> 32 & 0xFF) << 8 | Int(head >> 40 & 0xFF)
        let version = Int(bytes[position &+ 8])
        let length = Int(bytes[position &+ 10])
        let start = position &+ 11
        guard head & 0xFFFF_0000_FFFF_00FF == 0x0102_0000_0202_0030, bytes[position &+ 9] == BERTag.octetString,
            Int(head >> 8 & 0xFF) == length &+ 9, length < 0x77, type < 0x8000, version < 0x80, length <= end &- start
        else { return nil }
        skip(to: start &+ length)
        return (type, version, Range(uncheckedBounds: (start, start &+ length)))
    }
}
