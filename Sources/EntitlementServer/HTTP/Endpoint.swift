import HTTPCore

/// One thing that can be asked of the server: the routes, who may ask, and what is written about it are made of these.
struct Endpoint: Sendable {
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

    enum Action: Sendable {
        /// Anybody may ask; what is told may have to be signed.
        case open(@Sendable (Call) throws -> HTTPReply)
        case admitted(Access, by: Credential, @Sendable (Visit) throws -> HTTPReply)
    }

    let method: HTTPRequest.Method
    /// With `{name}` for what is named in it.
    let path: String
    /// A verb and what it is about, in camel case.
    let id: String
    /// What it does, without a full stop.
    let summary: String
    let action: Action

    init(
        _ method: HTTPRequest.Method, _ path: String, _ access: Access, _ id: String, _ summary: String,
        by credential: Credential = .bearer, _ respond: @escaping @Sendable (Visit) throws -> HTTPReply
    ) {
        self.init(
            method: method, path: path, id: id, summary: summary, action: .admitted(access, by: credential, respond))
    }

    init(
        open method: HTTPRequest.Method, _ path: String, _ id: String, _ summary: String,
        _ respond: @escaping @Sendable (Call) throws -> HTTPReply
    ) {
        self.init(method: method, path: path, id: id, summary: summary, action: .open(respond))
    }

    private init(method: HTTPRequest.Method, path: String, id: String, summary: String, action: Action) {
        self.method = method
        self.path = path
        self.id = id
        self.summary = summary
        self.action = action
    }
}
