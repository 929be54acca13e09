import Foundation
import Primitives

/// Requests the revocation status of a chain's certificates from their issuers (OCSP, RFC 6960) and caches the answers.
///
/// A verifier with a checker accepts only documents whose leaf and intermediate certificates have a current answer
/// "good". Without an answer it throws `onlineCheckFailed`, and a retry may succeed. The error `revoked` is final. A
/// missing answer is not cached and is requested again the next time, or after the pause `failurePause`. Calls about one
/// chain at the same time share the requests. Local chains of one certificate are not checked.
///
///     let checker = RevocationChecker(configuration: .init { url, body in try await post(body, to: url) })
///     var configuration = SignedDataVerifier.Configuration(bundleIDs: ["com.example"], environments: [.production])
///     configuration.revocation = checker
///     let verifier = SignedDataVerifier(configuration: configuration)
///     let verified = try await verifier.online { verifier throws(SignedDataError) in try verifier.transaction(jws) }
///
/// Any number of verifiers and threads can share one checker.
public final class RevocationChecker: Sendable {
    /// The transport of requests, and the lifetime of answers.
    public struct Configuration: Sendable {
        /// Posts a request body (`Content-Type: application/ocsp-request`) to a URL, and returns the body of an answer
        /// with status 200. It throws for other answers, and at its deadline. The URL is from a certificate that leads
        /// to a trusted root.
        public var post: @Sendable (URL, [UInt8]) async throws -> [UInt8]

        /// The clock for the age of answers. It is real time, even if the store's time is virtual.
        public var clock: any WallClock = SystemClock()

        /// The time for which an answer is cached, at least a minute. It is shorter if the answer expires earlier.
        public var lifetime: TimeInterval = 15 * 60

        /// The time after a failed request in which the same chain causes no further request.
        public var failurePause: TimeInterval = 0

        /// The number of chains in the cache, at least two.
        public var chainCacheCapacity = 32

        /// The former name of `chainCacheCapacity`.
        @available(*, deprecated, renamed: "chainCacheCapacity")
        public var rememberedChains: Int {
            get { chainCacheCapacity }
            set { chainCacheCapacity = newValue }
        }

        /// The allowed difference from the responder's clock.
        public var tolerance: TimeInterval = 5 * 60

        /// The use of a nonce in requests.
        package var nonce = OCSPNonce.preferred

        /// The largest size of an answer in bytes.
        public var maximumLength = 64 * 1024

        /// Creates a configuration.
        ///
        /// - Parameter post: Posts a request body to a URL and returns the body of the answer.
        public init(post: @escaping @Sendable (URL, [UInt8]) async throws -> [UInt8]) { self.post = post }

        fileprivate var rules: OCSPAnswer.Rules {
            OCSPAnswer.Rules(
                nonce: nonce, tolerance: tolerance, lifetime: max(60, lifetime), maximumLength: maximumLength)
        }
    }

    /// The transport of requests, and the lifetime of answers.
    public let configuration: Configuration
    private let statuses: Locked<BoundedCache<DigestKey, CachedStatus>>
    private let failures: Locked<BoundedCache<DigestKey, Date>>
    private let running = Locked<[DigestKey: Task<Result<CachedStatus, SignedDataError>, Never>]>([:])

    private struct CachedStatus {
        let isRevoked: Bool
        let receivedAt: Date
        let validUntil: Date
    }

    /// Creates a checker.
    ///
    /// - Parameter configuration: The transport of requests, and the lifetime of answers.
    public init(configuration: Configuration) {
        self.configuration = configuration
        statuses = Locked(BoundedCache(capacity: max(2, configuration.chainCacheCapacity)))
        failures = Locked(BoundedCache(capacity: max(2, configuration.chainCacheCapacity)))
    }

    /// Throws `revoked`, or `onlineCheckFailed` without a current answer in the cache. It sends no request.
    func require(_ chain: CertificateChain) throws(SignedDataError) {
        // A local certificate has no issuer with a responder, and is trusted by configuration.
        if chain.isLocal { return }
        guard let status = cachedStatus(chain, at: configuration.clock.now()) else {
            throw SignedDataError(
                .onlineCheckFailed, "It is not known whether the chain was revoked; verify it online.",
                underlying: RevocationUnknown(chain: chain))
        }
        if status.isRevoked { throw Self.revoked(chain) }
    }

    /// Requests the status of both certificates, unless a current answer is cached. Throws `revoked` if one of them is
    /// revoked, even if the other request fails. Throws `onlineCheckFailed` if an answer is missing or cannot be used,
    /// and `chainInvalid` if a certificate has no OCSP responder.
    package func check(_ chain: CertificateChain) async throws(SignedDataError) {
        guard let intermediate = chain.intermediate else { return }
        let now = configuration.clock.now()
        if let status = cachedStatus(chain, at: now) {
            if status.isRevoked { throw Self.revoked(chain) }
            return
        }
        let failed = failures.withLock { $0.value(for: chain.identity) }
        if let failed, failed <= now, now < failed.addingTimeInterval(configuration.failurePause) {
            throw SignedDataError(
                .onlineCheckFailed,
                "An OCSP responder gave no usable answer a moment ago, so it is not asked again yet.")
        }
        let task = running.withLock { running in
            if let task = running[chain.identity] { return task }
            let task = Task {
                let result = await self.status(of: chain, intermediate)
                self.store(result, of: chain)
                return result
            }
            running[chain.identity] = task
            return task
        }
        if try await task.value.get().isRevoked { throw Self.revoked(chain) }
    }

    /// Requests the status of both certificates.
    private func status(
        of chain: CertificateChain, _ intermediate: Certificate
    ) async -> Result<CachedStatus, SignedDataError> {
        let withNonce = configuration.nonce != .none
        let requests: [OCSPRequest]
        do {
            requests = [
                try OCSPRequest(about: chain.leaf, issuedBy: intermediate, withNonce: withNonce),
                try OCSPRequest(about: intermediate, issuedBy: chain.anchor, withNonce: withNonce),
            ]
        } catch { return .failure(error) }
        async let ofLeaf = answer(to: requests[0], trusting: chain.anchor)
        async let ofIntermediate = answer(to: requests[1], trusting: chain.anchor)
        let results = await [ofLeaf, ofIntermediate]
        var answers: [OCSPAnswer] = []
        var failure: SignedDataError?
        for result in results {
            switch result {
            case .success(let answer): answers.append(answer)
            case .failure(let error): failure = failure ?? error
            }
        }
        let isRevoked = answers.contains { $0.isRevoked }
        if let failure, !isRevoked { return .failure(failure) }
        let now = configuration.clock.now()
        let end = answers.map(\.validUntil).reduce(now.addingTimeInterval(configuration.rules.lifetime), min)
        return .success(CachedStatus(isRevoked: isRevoked, receivedAt: now, validUntil: end))
    }

    private func store(_ result: Result<CachedStatus, SignedDataError>, of chain: CertificateChain) {
        switch result {
        case .success(let status): statuses.withLock { $0.insert(status, for: chain.identity) }
        case .failure:
            let now = configuration.clock.now()
            failures.withLock { $0.insert(now, for: chain.identity) }
        }
        running.withLock { $0[chain.identity] = nil }
    }

    private func cachedStatus(_ chain: CertificateChain, at now: Date) -> CachedStatus? {
        let status = statuses.withLock { $0.value(for: chain.identity) }
        // Ignores answers with a date after `now`: the clock was set back, so their age is unknown.
        return status.flatMap { $0.receivedAt <= now && now < $0.validUntil ? $0 : nil }
    }

    private func answer(
        to request: OCSPRequest, trusting anchor: Certificate
    ) async -> Result<OCSPAnswer, SignedDataError> {
        let response: [UInt8]
        do { response = try await configuration.post(request.responder, request.der) } catch {
            return .failure(
                SignedDataError(
                    .onlineCheckFailed,
                    "The OCSP responder \(Excerpt(request.responder.absoluteString)) gave no answer.",
                    underlying: error))
        }
        let now = configuration.clock.now()
        do {
            return .success(
                try OCSPAnswer(response, to: request, trusting: anchor, at: now, rules: configuration.rules))
        } catch { return .failure(error) }
    }

    private static func revoked(_ chain: CertificateChain) -> SignedDataError {
        SignedDataError(
            .revoked,
            "A certificate of the chain was revoked by its issuer: \(Excerpt(chain.leaf.subject)) or the intermediate.")
    }
}

/// The underlying error of `onlineCheckFailed`: the chain whose revocation status is not known.
struct RevocationUnknown: Error {
    let chain: CertificateChain
}
