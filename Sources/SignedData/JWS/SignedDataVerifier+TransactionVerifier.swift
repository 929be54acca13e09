import AppStorePayloads
import StoreModel

/// An in-app store may judge transactions with it while its server cannot be asked: `StoreConfiguration.localVerifier`.
extension SignedDataVerifier: TransactionVerifier {
    /// Throws `SignedDataError`.
    public func verify(_ signedTransaction: String) async throws -> VerifiedTransaction {
        VerifiedTransaction(try transaction(signedTransaction).payload)
    }
}
