import AppStorePayloads
import StoreModel

/// Verifies transactions for an in-app store whose server cannot be reached: `StoreConfiguration.localVerifier`.
extension SignedDataVerifier: TransactionVerifier {
    /// Verifies a signed transaction.
    ///
    /// - Parameter signedTransaction: A JWS in compact serialization.
    /// - Returns: The content of the transaction.
    /// - Throws: `SignedDataError`.
    public func verify(_ signedTransaction: String) async throws -> VerifiedTransaction {
        VerifiedTransaction(try transaction(signedTransaction).payload)
    }
}
