import Foundation
import StoreModel

extension ReceiptAttribute {
    /// Creates an attribute with an INTEGER as its value.
    ///
    /// - Parameters:
    ///   - type: The number of the attribute.
    ///   - integer: The number.
    public init(type: Int, integer: Int64) { self.init(type: type, value: DERWriter.integer(integer)[...]) }

    /// Creates an attribute with a string as its value (UTF8String).
    ///
    /// - Parameters:
    ///   - type: The number of the attribute.
    ///   - text: The string.
    public init(type: Int, text: String) { self.init(type: type, value: DERWriter.utf8String(text)[...]) }

    /// Creates an attribute with a date in whole seconds as its value (IA5String of RFC 3339 in UTC).
    ///
    /// - Parameters:
    ///   - type: The number of the attribute.
    ///   - date: The date.
    public init(type: Int, date: Date) { self.init(type: type, value: DERWriter.date(date)[...]) }

    /// The value as a number, if it is an INTEGER of at most 64 bits.
    public var integerValue: Int64? { reading(\.integer) }
    /// The value as a string, if it is a string that is not empty.
    public var textValue: String? { reading(\.text) }
    /// The value as a date, if it is a string with a date.
    public var dateValue: Date? { reading(\.date) }

    private func reading<Value>(_ kind: (ReceiptValue) -> ReceiptValue.Reading<Value>) -> Value? {
        value.withUnsafeBytes { bytes in
            if case .value(let value) = kind(ReceiptValue(bytes: bytes, place: 0..<bytes.count)) { value } else { nil }
        }
    }
}

/// Attributes that Apple does not document, with the names of `/verifyReceipt`.
extension AppReceipt {
    /// The App Store's number of the app, 0 in the sandbox (`adam_id`, attribute 1).
    public var appItemID: Int64? { first(1)?.integerValue }
    /// The date of the request for the receipt (`request_date`, 8).
    public var requestDate: Date? { first(8)?.dateValue }
    /// The age rating of the app, for example `4+` (10).
    public var ageRating: String? { first(10)?.textValue }
    /// The id of the download of the app (`download_id`, 15).
    public var downloadID: Int64? { first(15)?.integerValue }
    /// The App Store's number of the app's version (`version_external_identifier`, 16).
    public var versionExternalID: Int64? { first(16)?.integerValue }
    /// The date of the first download of the app (`original_purchase_date`, 18).
    public var originalPurchaseDate: Date? { first(18)?.dateValue }

    private func first(_ type: Int) -> ReceiptAttribute? { otherAttributes.first { $0.type == type } }
}

extension AppReceipt.InAppPurchase {
    /// The App Store's number of the product (`item_id`, attribute 1710).
    public var itemID: Int64? { otherAttributes.first { $0.type == 1710 }?.integerValue }
}
