import HTTPCore

/// The function behind an endpoint of the server, and the callers it is for.
enum ServerHandler: Sendable {
    /// Needs no key. The body may have to be signed.
    case open(@Sendable (Call) throws -> HTTPReply)
    case authorized(Access, by: Credential = .bearer, @Sendable (RequestContext) throws -> HTTPReply)

    /// Who may ask (WIRE.md, "Keys").
    enum Access: Sendable {
        /// Any key of the app; where the app demands customer tokens, a public key needs the customer's beside it.
        case publicKey
        /// A secret key.
        case secretKey
        /// A secret key, or a public one with the token of the customer it is about.
        case customer
    }

    /// Where a key may stand in a request.
    enum Credential: Sendable {
        /// `Authorization: Bearer`.
        case bearer
        /// `x-api-key`, or else `Authorization: Bearer`.
        case apiKeyOrBearer
    }
}
