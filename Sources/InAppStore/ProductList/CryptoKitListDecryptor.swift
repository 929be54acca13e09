#if canImport(CryptoKit)
    import CryptoKit
    import Foundation
    import Primitives
    import StoreModel

    /// Decrypts product lists with CryptoKit, so that no C library is linked on Apple platforms.
    ///
    ///     configuration.productListDecryptor = try CryptoKitListDecryptor(hexKey: key)
    public struct CryptoKitListDecryptor: ProductListDecryptor {
        private let key: SymmetricKey

        /// Creates a decryptor.
        ///
        /// - Parameter hexKey: The key of 256 bits, as 64 hexadecimal digits.
        /// - Throws: `PurchaseError` with the code `productListKeyMissing` for any other string.
        public init(hexKey: String) throws(PurchaseError) {
            guard hexKey.utf8.count == 64, let bytes = Hex.decode(hexKey) else {
                throw PurchaseError(
                    .productListKeyMissing, "The key of a product list must have 64 hexadecimal digits.")
            }
            key = SymmetricKey(data: bytes)
        }

        public func decrypt(_ sealed: [UInt8], authenticating header: [UInt8]) throws -> [UInt8] {
            Array(try AES.GCM.open(AES.GCM.SealedBox(combined: sealed), using: key, authenticating: header))
        }
    }
#endif
