import HTTPCore

/// The function of an endpoint, with the access that it requires.
enum ServerHandler: Sendable {
    /// An endpoint without a key. Its body may need a signature.
    case open(@Sendable (Call) throws -> HTTPReply)
    case authorized(Access, by: Credential = .bearer, @Sendable (RequestContext) throws -> HTTPReply)

    /// The keys that an endpoint accepts.
    enum Access: Sendable {
        /// Any key of the app. If the app requires customer tokens, a public key also needs the customer's token.
        case publicKey
        /// A secret key.
        case secretKey
        /// A secret key, or a public key with the customer's token.
        case customer
    }

    /// The headers that can have the key.
    enum Credential: Sendable {
        /// `Authorization: Bearer`.
        case bearer
        /// `x-api-key`, or else `Authorization: Bearer`.
        case apiKeyOrBearer
    }
}
