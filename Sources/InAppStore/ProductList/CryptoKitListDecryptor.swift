#if canImport(CryptoKit)
    import CryptoKit
    import Foundation
    import Primitives
    import StoreModel

    /// Opens encrypted product lists with what every Apple platform has, so that no C library is linked.
    ///
    ///     configuration.productListDecryptor = try CryptoKitListDecryptor(hexKey: key)
    public struct CryptoKitListDecryptor: ProductListDecryptor {
        private let key: SymmetricKey

        /// Throws `productListKeyMissing` unless the key is 64 hexadecimal digits: 256 bits.
        public init(hexKey: String) throws(PurchaseError) {
            guard hexKey.utf8.count == 64, let bytes = Hex.decode(hexKey) else {
                throw PurchaseError(
                    .productListKeyMissing, "The key of a product list is 64 hexadecimal digits; this text is not.")
            }
            key = SymmetricKey(data: bytes)
        }

        public func decrypt(_ sealed: [UInt8], authenticating header: [UInt8]) throws -> [UInt8] {
            Array(try AES.GCM.open(AES.GCM.SealedBox(combined: sealed), using: key, authenticating: header))
        }
    }
#endif
