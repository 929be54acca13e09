import StoreModel

/// The authorization of a request. A response that outlasts its request, such as a stream of events, checks it again.
struct Authorization: Sendable {
    /// The interval of these checks in seconds. A stream must end within a second after the revocation of its key.
    static let recheck = 0.5

    let caller: Caller
    /// The customer token of the request.
    let token: CustomerTokens.Claims?
    let keys: KeyRing
    let tokens: CustomerTokens

    /// Returns whether the key is still valid and the token has not expired. Reads the ledger.
    func isStillValid() throws -> Bool {
        if let token, !tokens.isCurrent(token) { return false }
        return try keys.admits(caller)
    }
}
