import Foundation
import Primitives

/// Asks the issuers of a chain's certificates whether they were revoked (OCSP, RFC 6960) and remembers the answers.
///
/// A verifier whose configuration has one accepts nothing signed under a chain without a current answer "good" for both
/// its leaf and its intermediate. No answer is a refusal too, one that `isRetryable`: `onlineCheckFailed`. `revoked` is
/// final. An answer that could not be had is asked for again the next time; it is never remembered.
///
///     let checker = RevocationChecker(configuration: .init { url, body in try await post(body, to: url) })
///     var configuration = SignedDataVerifier.Configuration(bundleIDs: ["com.example"], environments: [.production])
///     configuration.revocation = checker
///     let verifier = SignedDataVerifier(configuration: configuration)
///     let verified = try await verifier.online { verifier throws(SignedDataError) in try verifier.transaction(jws) }
///
/// One checker may serve any number of verifiers and threads.
public final class RevocationChecker: Sendable {
    /// How to ask, and how long an answer counts.
    public struct Configuration: Sendable {
        /// Posts the body (`Content-Type: application/ocsp-request`) to the address and returns the body of an answer with
        /// status 200; throws otherwise, and when its deadline passes. The address stands in a certificate that leads to
        /// a trusted root.
        public var post: @Sendable (URL, [UInt8]) async throws -> [UInt8]

        /// What tells the age of answers: real time, also where the store's time is virtual.
        public var clock: any WallClock = SystemClock()

        /// How long an answer is remembered, at least a minute; less where it ends before.
        public var lifetime: TimeInterval = 15 * 60

        /// How many chains are remembered, at least two.
        public var rememberedChains = 32

        /// How far the responder's clock may be from ours.
        public var tolerance: TimeInterval = 5 * 60

        /// What is asked of the request's nonce.
        package var nonce = OCSPNonce.preferred

        /// The most bytes of an answer that are read.
        public var maximumLength = 64 * 1024

        public init(post: @escaping @Sendable (URL, [UInt8]) async throws -> [UInt8]) { self.post = post }

        fileprivate var rules: OCSPAnswer.Rules {
            OCSPAnswer.Rules(
                nonce: nonce, tolerance: tolerance, lifetime: max(60, lifetime), maximumLength: maximumLength)
        }
    }

    public let configuration: Configuration
    private let verdicts: Locked<BoundedCache<DigestKey, Verdict>>

    private struct Verdict {
        let isRevoked: Bool
        let given: Date
        let validUntil: Date
    }

    public init(configuration: Configuration) {
        self.configuration = configuration
        verdicts = Locked(BoundedCache(capacity: max(2, configuration.rememberedChains)))
    }

    /// Throws `revoked`, or `onlineCheckFailed` where no current answer is remembered. Never asks.
    func require(_ chain: CertificateChain) throws(SignedDataError) {
        // A development machine's certificate has no issuer to ask: whoever gave it has decided.
        if chain.isLocal { return }
        guard let verdict = remembered(chain, at: configuration.clock.now()) else {
            throw SignedDataError(
                .onlineCheckFailed, "It is not known whether the chain was revoked; verify it online.",
                underlying: RevocationUnknown(chain: chain))
        }
        if verdict.isRevoked { throw Self.revoked(chain) }
    }

    /// Asks for both certificates at once, unless a current answer is remembered. Throws `revoked`, `onlineCheckFailed`,
    /// or `chainInvalid` when a certificate names nobody to ask.
    package func check(_ chain: CertificateChain) async throws(SignedDataError) {
        guard let intermediate = chain.intermediate else { return }
        if let verdict = remembered(chain, at: configuration.clock.now()) {
            if verdict.isRevoked { throw Self.revoked(chain) }
            return
        }
        let withNonce = configuration.nonce != .none
        let questions = [
            try OCSPRequest(about: chain.leaf, issuedBy: intermediate, withNonce: withNonce),
            try OCSPRequest(about: intermediate, issuedBy: chain.anchor, withNonce: withNonce),
        ]
        async let ofLeaf = answer(to: questions[0], trusting: chain.anchor)
        async let ofIntermediate = answer(to: questions[1], trusting: chain.anchor)
        let results = await [ofLeaf, ofIntermediate]
        var answers: [OCSPAnswer] = []
        var failure: SignedDataError?
        for result in results {
            switch result {
            case .success(let answer): answers.append(answer)
            case .failure(let error): failure = failure ?? error
            }
        }
        // One certificate that was revoked decides, whatever became of the other question.
        let isRevoked = answers.contains { $0.isRevoked }
        if let failure, !isRevoked { throw failure }
        let now = configuration.clock.now()
        let end = answers.map(\.validUntil).reduce(now.addingTimeInterval(configuration.rules.lifetime), min)
        let verdict = Verdict(isRevoked: isRevoked, given: now, validUntil: end)
        verdicts.withLock { $0.insert(verdict, for: chain.identity) }
        if isRevoked { throw Self.revoked(chain) }
    }

    private func remembered(_ chain: CertificateChain, at now: Date) -> Verdict? {
        let verdict = verdicts.withLock { $0.value(for: chain.identity) }
        // A clock that was set back makes every answer as good as none.
        return verdict.flatMap { $0.given <= now && now < $0.validUntil ? $0 : nil }
    }

    private func answer(
        to question: OCSPRequest, trusting anchor: Certificate
    ) async -> Result<OCSPAnswer, SignedDataError> {
        let response: [UInt8]
        do { response = try await configuration.post(question.responder, question.der) } catch {
            return .failure(
                SignedDataError(
                    .onlineCheckFailed,
                    "The OCSP responder \(Excerpt(question.responder.absoluteString)) gave no answer.",
                    underlying: error))
        }
        let now = configuration.clock.now()
        do {
            return .success(
                try OCSPAnswer(response, to: question, trusting: anchor, at: now, rules: configuration.rules))
        } catch { return .failure(error) }
    }

    private static func revoked(_ chain: CertificateChain) -> SignedDataError {
        SignedDataError(
            .revoked,
            "A certificate of the chain was revoked by its issuer: \(Excerpt(chain.leaf.subject)) or the one above.")
    }
}

/// Beneath `onlineCheckFailed`: the chain that was not asked about yet.
struct RevocationUnknown: Error {
    let chain: CertificateChain
}
