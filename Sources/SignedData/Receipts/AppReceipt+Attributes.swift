import Foundation
import StoreModel

extension ReceiptAttribute {
    /// An attribute whose value is an INTEGER.
    public init(type: Int, integer: Int64) { self.init(type: type, value: DERWriter.integer(integer)[...]) }

    /// An attribute whose value is a text (UTF8String).
    public init(type: Int, text: String) { self.init(type: type, value: DERWriter.utf8String(text)[...]) }

    /// An attribute whose value is a date, in whole seconds (IA5String of RFC 3339 in UTC).
    public init(type: Int, date: Date) { self.init(type: type, value: DERWriter.date(date)[...]) }

    /// The value as a number, if it is an INTEGER of at most 64 bits.
    public var integerValue: Int64? { reading(\.integer) }
    /// The value as a text, if it is one that is not empty.
    public var textValue: String? { reading(\.text) }
    /// The value as a date, if it is a text that is one.
    public var dateValue: Date? { reading(\.date) }

    private func reading<Value>(_ kind: (ReceiptValue) -> ReceiptValue.Reading<Value>) -> Value? {
        value.withUnsafeBytes { bytes in
            if case .value(let value) = kind(ReceiptValue(bytes: bytes, place: 0..<bytes.count)) { value } else { nil }
        }
    }
}

/// Attributes that Apple does not document, by what `/verifyReceipt` calls them.
extension AppReceipt {
    /// The App Store's number of the app, 0 in the sandbox (`adam_id`, attribute 1).
    public var appItemID: Int64? { first(1)?.integerValue }
    /// When the receipt was asked for (`request_date`, 8).
    public var requestDate: Date? { first(8)?.dateValue }
    /// The app's age rating, as `4+` (10).
    public var ageRating: String? { first(10)?.textValue }
    /// The download of the app (`download_id`, 15).
    public var downloadID: Int64? { first(15)?.integerValue }
    /// The App Store's number of the app's version (`version_external_identifier`, 16).
    public var versionExternalID: Int64? { first(16)?.integerValue }
    /// When the app was first downloaded (`original_purchase_date`, 18).
    public var originalPurchaseDate: Date? { first(18)?.dateValue }

    private func first(_ type: Int) -> ReceiptAttribute? { otherAttributes.first { $0.type == type } }
}

extension AppReceipt.InAppPurchase {
    /// The App Store's number of the product (`item_id`, attribute 1710).
    public var itemID: Int64? { otherAttributes.first { $0.type == 1710 }?.integerValue }
}
