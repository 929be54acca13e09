import Foundation
import HTTPCore
import Primitives
import SignedData
import StoreModel

/// Signs every response to a request with a valid `?nonce=`, including refusals and 304, if the server has a key.
struct AnswerSigner: Sendable {
    /// The first key signs. All are published, so that clients know a key before it signs and as long as its signatures
    /// exist.
    private let keys: Locked<[AnswerSigningKey]>
    /// The clock of the signatures' dates: real time.
    private let clock: any WallClock

    init(keys: [AnswerSigningKey], clock: any WallClock) {
        self.keys = Locked(keys)
        self.clock = clock
    }

    /// Signs with other keys from now on, in every copy of this signer.
    func replaceKeys(_ fresh: [AnswerSigningKey]) { keys.withLock { $0 = fresh } }

    /// The body of GET `/v1/signing-keys`.
    var published: SigningKeysAnswer {
        SigningKeysAnswer(
            keys: keys.withLock { $0 }.map { .init(id: $0.id, publicKey: Base64.encode($0.publicKey.raw)) })
    }

    /// Refuses a request with a nonce, before it has an effect, if the server has no key, the nonce is invalid, or the
    /// request does not match its stated digest.
    func check(_ request: HTTPRequest) throws {
        let query = request.query
        guard let nonce = query?[SignedAnswer.nonceItem] else { return }
        guard !keys.withLock(\.isEmpty) else { throw Refusal.noSigningKey }
        guard SignedAnswer.isNonce(nonce) else {
            throw Refusal.invalid(SignedAnswer.nonceItem, "should have \(SignedAnswer.nonceRule)")
        }
        guard let statedDigest = query?[SignedAnswer.requestDigestItem] else { return }
        let requestDigest = request.body.buffered.map {
            SignedAnswer.requestDigest(environment: request.headers["Souk-Environment"], body: $0)
        }
        guard statedDigest == requestDigest else {
            throw Refusal.invalid(
                SignedAnswer.requestDigestItem,
                "does not match the request: its body or environment was changed on the way")
        }
    }

    /// Returns the reply to a request, signed if the request has a nonce.
    func sign(_ reply: HTTPReply, to request: HTTPRequest) -> HTTPReply {
        guard let nonce = request.query?[SignedAnswer.nonceItem], SignedAnswer.isNonce(nonce),
            let key = keys.withLock(\.first)
        else { return reply }
        let target = request.target
        return reply.map { signed($0, to: target, nonce: nonce, by: key) }
    }

    private func signed(
        _ response: HTTPResponse, to target: String, nonce: String, by key: AnswerSigningKey
    ) -> HTTPResponse {
        guard let body = response.body.buffered else {
            if case .stream(let stream) = response.body { stream.cancel() }
            return signed(Refusal.unsignable.response(to: response), to: target, nonce: nonce, by: key)
        }
        let date = RFC3339.string(from: clock.now())
        let message = SignedAnswer.message(
            nonce: nonce, target: target, date: date, etag: response.headers["ETag"],
            bodyDigest: MessageDigest.sha256(body))
        let signature = SignedAnswer.Signature(keyID: key.id, bytes: key.signature(of: message))
        var response = response
        response.headers.add(SignedAnswer.signatureField, signature.field)
        response.headers.add(SignedAnswer.dateField, date)
        return response
    }
}

extension Refusal {
    /// Creates a response that replaces `answer` and keeps its request id.
    fileprivate func response(to answer: HTTPResponse) -> HTTPResponse {
        var response = self.response
        if let id = answer.headers[Authenticator.requestID] { response.headers.add(Authenticator.requestID, id) }
        return response
    }

    fileprivate static let noSigningKey = Refusal(
        HTTPProblem(
            status: 501, code: "no_signing_key", title: "Answers are not signed",
            detail: "This server has no signing key; send the request without nonce.",
            field: SignedAnswer.nonceItem))

    fileprivate static let unsignable = Refusal(
        HTTPProblem(
            status: 400, code: "invalid_field", title: "Invalid field",
            detail: "A stream cannot be signed; send the request without nonce.", field: SignedAnswer.nonceItem))
}
