import Foundation
import SignedData

extension EntitlementService.Configuration {
    /// How the server asks whether the certificates of signed transactions, renewal infos, notifications and receipts
    /// were revoked. A receipt whose certificates have expired is not asked about.
    ///
    /// The status of a certificate comes from its issuer (OCSP) and is cached for 15 minutes at most. A document whose
    /// certificate was revoked is refused with `revoked`.
    public struct RevocationCheck: Sendable {
        /// Whether a document is refused while the status of its certificates is not known. The refusal has the status
        /// 503 or is retryable. With `false` such a document is accepted.
        public var isRequired: Bool

        /// Posts a request body (`Content-Type: application/ocsp-request`) to a URL, and returns the body of an answer
        /// with status 200. It throws for other answers, and at its deadline.
        public var post: @Sendable (URL, [UInt8]) async throws -> [UInt8]

        /// Creates a check.
        ///
        /// - Parameters:
        ///   - isRequired: Whether a document is refused while the status of its certificates is not known.
        ///   - post: Posts a request body to a URL and returns the body of the answer.
        public init(isRequired: Bool, post: @escaping @Sendable (URL, [UInt8]) async throws -> [UInt8]) {
            self.isRequired = isRequired
            self.post = post
        }
    }

    /// Returns the checker of all apps; `nil` without a check.
    func revocationChecker(counting metrics: ServerMetrics) -> RevocationChecker? {
        guard let check = revocation else { return nil }
        var settings = RevocationChecker.Configuration { url, request in
            do {
                let answer = try await check.post(url, request)
                metrics.revocationRequests.add("answered")
                return answer
            } catch {
                metrics.revocationRequests.add("failed")
                throw error
            }
        }
        settings.clock = realClock
        // Without a pause, each document would wait for the deadline of a responder that does not answer.
        settings.failurePause = check.isRequired ? 5 : 60
        return RevocationChecker(configuration: settings)
    }
}
