import Foundation
import HTTPCore
import Primitives

/// Requires a signed answer to one request, and verifies it. Documentation/SignedAnswers.md describes the signatures.
struct AnswerProof: Sendable {
    /// The rules for accepting answers.
    struct Requirements: Sendable {
        var verifier: (any AnswerVerifier)?
        /// Whether a missing verifier is an error.
        var isRequired = false
        /// The greatest accepted difference between the date of a signature and `clock`, in both directions.
        var tolerance: Duration = .seconds(86_400)
        /// Real time, because servers date their signatures with it.
        var clock: any WallClock = SystemClock()
        /// Returns the nonce of a request, which must be unique.
        var makeNonce: @Sendable () -> String = { UUID().uuidString }

        /// Adds a nonce and a digest of the request to its `url`, which is a path below the base URL. Returns `nil` if
        /// unsigned answers are accepted.
        ///
        /// - Throws: `PurchaseError` with the code `untrustedAnswer` when a verifier is required and missing.
        func proof(for request: inout HTTPRequest) throws(PurchaseError) -> AnswerProof? {
            guard let verifier else {
                guard !isRequired else {
                    throw PurchaseError(
                        .untrustedAnswer,
                        "This app requires signed answers, and there is no verifier; set answerVerifier.")
                }
                return nil
            }
            return AnswerProof(requirements: self, verifier: verifier, nonce: makeNonce(), for: &request)
        }
    }

    private let requirements: Requirements
    private let verifier: any AnswerVerifier
    private let nonce: String
    /// The path and query below the base URL, as the server sees them behind a proxy that removes a prefix.
    private let target: String

    private init(
        requirements: Requirements, verifier: any AnswerVerifier, nonce: String, for request: inout HTTPRequest
    ) {
        self.requirements = requirements
        self.verifier = verifier
        self.nonce = nonce
        let separator = request.url.contains("?") ? "&" : "?"
        let requestDigest = SignedAnswer.requestDigest(
            environment: request.headers["Souk-Environment"], body: request.body.buffered ?? [])
        request.url +=
            "\(separator)\(SignedAnswer.nonceItem)=\(PercentEncoding.encode(nonce))&\(SignedAnswer.requestDigestItem)=\(requestDigest)"
        target = request.url
    }

    /// Returns whether the answer has a valid signature of the server. Returns `false` for an unsigned answer with
    /// status 429 or 5xx, because a proxy and an overloaded server cannot sign.
    ///
    /// - Throws: `PurchaseError` with the code `untrustedAnswer` for any other answer without a valid signature for
    ///   this request, for a date outside the tolerance, and for a status that differs from the signed content.
    func verify(_ answer: ServiceConnection.Answer) throws(PurchaseError) -> Bool {
        guard let field = answer.headers[SignedAnswer.signatureField] else {
            guard answer.status == 429 || answer.status >= 500 else {
                throw PurchaseError(.untrustedAnswer, "The answer is not signed, and this app requires signed answers.")
            }
            return false
        }
        guard let signature = SignedAnswer.Signature(parsing: field),
            let dateText = answer.headers[SignedAnswer.dateField], let date = RFC3339.date(from: dateText)
        else { throw PurchaseError(.untrustedAnswer, "The answer's signature is malformed.") }
        let message = SignedAnswer.message(
            nonce: nonce, target: target, date: dateText, etag: answer.headers["ETag"], body: answer.bytes)
        do {
            try verifier.verify(signature.bytes, of: message, keyID: signature.keyID)
        } catch {
            throw PurchaseError(.untrustedAnswer, underlying: error)
        }
        guard Duration.seconds(abs(date.timeIntervalSince(requirements.clock.now()))) <= requirements.tolerance else {
            throw PurchaseError(
                .untrustedAnswer,
                "The answer was signed at \(dateText), which differs too much from the device's date; check that date.")
        }
        guard answer.hasStatusOfContent else {
            throw PurchaseError(.untrustedAnswer, "The answer's status differs from the status in its signed content.")
        }
        return true
    }
}

extension ServiceConnection.Answer {
    /// Whether the status agrees with the signed content, because the status itself is not signed. A problem contains
    /// its status, a 304 has no content, and a success has a content that is not a problem.
    fileprivate var hasStatusOfContent: Bool {
        switch status {
        case 304: bytes.isEmpty
        case 200..<300: !bytes.isEmpty && HTTPProblem(parsing: bytes) == nil
        default: HTTPProblem(parsing: bytes)?.status == status
        }
    }
}
