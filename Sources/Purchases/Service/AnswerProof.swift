import Foundation
import HTTPCore
import Primitives

/// Asks for one answer to be signed, and judges whether it was (WIRE.md, "Signed answers").
struct AnswerProof: Sendable {
    /// Which answers a client believes.
    struct Demand: Sendable {
        var verifier: (any AnswerVerifier)?
        /// Without a verifier nothing is asked at all.
        var isRequired = false
        /// How far the date of a signature may lie from what `clock` reads, either way.
        var tolerance: Duration = .seconds(86_400)
        /// Real time, as servers date their signatures.
        var clock: any WallClock = SystemClock()
        /// Makes the nonce of a request; never the same twice.
        var makeNonce: @Sendable () -> String = { UUID().uuidString }

        /// Adds a nonce, and what is asked besides the path, to a request whose `url` is a path below the base URL; `nil`
        /// where answers are taken unsigned.
        ///
        /// Throws `untrustedAnswer` when no answer could ever be believed.
        func proof(askedFor request: inout HTTPRequest) throws(PurchaseError) -> AnswerProof? {
            guard let verifier else {
                guard !isRequired else {
                    throw PurchaseError(
                        .untrustedAnswer,
                        "This app takes signed answers only and nothing judges signatures; set answerVerifier.")
                }
                return nil
            }
            return AnswerProof(demand: self, verifier: verifier, nonce: makeNonce(), askedFor: &request)
        }
    }

    private let demand: Demand
    private let verifier: any AnswerVerifier
    private let nonce: String
    /// Path and query below the base URL: what the server sees, also behind a proxy that takes a prefix away.
    private let target: String

    private init(demand: Demand, verifier: any AnswerVerifier, nonce: String, askedFor request: inout HTTPRequest) {
        self.demand = demand
        self.verifier = verifier
        self.nonce = nonce
        let mark = request.url.contains("?") ? "&" : "?"
        let question = SignedAnswer.question(
            environment: request.headers["Souk-Environment"], body: request.body.buffered ?? [])
        request.url +=
            "\(mark)\(SignedAnswer.nonceItem)=\(PercentEncoding.encode(nonce))&\(SignedAnswer.questionItem)=\(question)"
        target = request.url
    }

    /// Whether the answer is proven to be the server's. `false` only for what says that the server could not be asked: a
    /// proxy in between cannot sign, and neither can a server that has no room left to.
    ///
    /// Throws `untrustedAnswer` for any other answer without the server's signature for this question, for one dated
    /// otherwise than now, and for one whose status is not that of its signed content.
    func judge(_ answer: ServiceConnection.Answer) throws(PurchaseError) -> Bool {
        guard let field = answer.headers[SignedAnswer.signatureField] else {
            guard answer.status == 429 || answer.status >= 500 else {
                throw PurchaseError(.untrustedAnswer, "The answer is not signed, and this app takes signed ones only.")
            }
            return false
        }
        guard let signature = SignedAnswer.Signature(parsing: field),
            let dateText = answer.headers[SignedAnswer.dateField], let date = RFC3339.date(from: dateText)
        else { throw PurchaseError(.untrustedAnswer, "The answer's signature has not the form it should have.") }
        let message = SignedAnswer.message(
            nonce: nonce, target: target, date: dateText, etag: answer.headers["ETag"], body: answer.bytes)
        do {
            try verifier.verify(signature.bytes, of: message, keyID: signature.keyID)
        } catch {
            throw PurchaseError(.untrustedAnswer, underlying: error)
        }
        guard Duration.seconds(abs(date.timeIntervalSince(demand.clock.now()))) <= demand.tolerance else {
            throw PurchaseError(
                .untrustedAnswer, "The answer was signed at \(dateText), which is not now; check the device's date.")
        }
        guard answer.hasStatusOfContent else {
            throw PurchaseError(.untrustedAnswer, "The answer's status is not the one that its signed content has.")
        }
        return true
    }
}

extension ServiceConnection.Answer {
    /// The status is not signed; the content, which is, tells it: a refusal is a problem that names its status, a 304 has
    /// no content, and a success has one that is no problem.
    fileprivate var hasStatusOfContent: Bool {
        switch status {
        case 304: bytes.isEmpty
        case 200..<300: !bytes.isEmpty && HTTPProblem(parsing: bytes) == nil
        default: HTTPProblem(parsing: bytes)?.status == status
        }
    }
}
