/// Judges on the device whether the store signed a transaction for this app. What it says is provisional: it never
/// acknowledges anything, and the entitlement server's answer takes its place.
public protocol TransactionVerifier: Sendable {
    /// What a signed transaction (JWS) says. Throws when the store did not sign it, or not for this app.
    func verify(_ signedTransaction: String) async throws -> JWSTransactionDecodedPayload
}
