import HTTPCore

/// Asks for one answer to be signed, and judges whether it was (WIRE.md, "Signed answers").
struct AnswerProof: Sendable {
    private let verifier: any AnswerVerifier
    private let nonce: String
    /// Path and query below the base URL: what the server sees, also behind a proxy that takes a prefix away.
    private let target: String

    /// Adds the nonce to a request whose `url` is a path below the base URL.
    init(verifier: any AnswerVerifier, nonce: String, askedFor request: inout HTTPRequest) {
        self.verifier = verifier
        self.nonce = nonce
        let mark = request.url.contains("?") ? "&" : "?"
        request.url += "\(mark)\(SignedAnswer.nonceItem)=\(PercentEncoding.encode(nonce))"
        target = request.url
    }

    /// Whether the answer is proven to be the server's. `false` only for what says that the server could not be asked: a
    /// proxy in between cannot sign, and neither can a server that has no room left to.
    ///
    /// Throws `untrustedAnswer` for any other answer without the server's signature for this question.
    func judge(_ answer: ServiceConnection.Answer) throws(PurchaseError) -> Bool {
        guard let field = answer.headers[SignedAnswer.signatureField] else {
            guard answer.status == 429 || answer.status >= 500 else {
                throw PurchaseError(.untrustedAnswer, "The answer is not signed, and this app takes signed ones only.")
            }
            return false
        }
        guard let signature = SignedAnswer.Signature(parsing: field),
            let date = answer.headers[SignedAnswer.dateField]
        else { throw PurchaseError(.untrustedAnswer, "The answer's signature has not the form it should have.") }
        let message = SignedAnswer.message(
            nonce: nonce, target: target, date: date, etag: answer.headers["ETag"], body: answer.bytes)
        do {
            try verifier.verify(signature.bytes, of: message, keyID: signature.keyID)
        } catch {
            throw PurchaseError(.untrustedAnswer, underlying: error)
        }
        return true
    }
}
