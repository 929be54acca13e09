import StoreModel

/// The right by which a request was let in. An answer that lasts longer than its request, such as a stream of events, asks
/// again whether the right still holds.
struct Authorization: Sendable {
    /// How long an answer may go on before it asks again, in seconds: half of the second within which it must end.
    static let recheck = 0.5

    let caller: Caller
    /// The customer token that was presented beside the key.
    let token: CustomerTokens.Claims?
    let keys: KeyRing
    let tokens: CustomerTokens

    /// Whether the key is neither revoked nor replaced and the token has not expired. Asks the ledger.
    func holds() throws -> Bool {
        if let token, !tokens.isCurrent(token) { return false }
        return try keys.admits(caller)
    }
}
