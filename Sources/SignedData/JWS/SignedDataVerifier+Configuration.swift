import AppStorePayloads
import Foundation
import StoreModel

extension SignedDataVerifier {
    /// The trusted roots and accepted documents of a verifier.
    public struct Configuration: Sendable {
        /// The roots at which a chain may end.
        public var trustAnchors: [TrustAnchor]

        /// The accepted bundle ids, or `nil` for any. Use `nil` only to inspect a file, never in a server.
        public var bundleIDs: Set<BundleID>?

        /// The accepted environments, or `nil` for any in a chain of three certificates. Use `nil` only to inspect a
        /// file, never in a server.
        ///
        /// Documents of StoreKit Testing in Xcode have a chain of one certificate. They are accepted only if this set
        /// has `xcode` or `localTesting`, and if their certificate or key is among `trustAnchors`.
        public var environments: Set<AppStoreEnvironment>?

        /// The App Store's number of the app, or `nil` to accept any. Notifications and app transactions of production,
        /// and all realtime requests, must have this number.
        public var appAppleID: Int?

        /// The App Store's numbers of several apps by bundle id. Other apps are compared with `appAppleID`.
        public var appAppleIDs: [BundleID: Int] = [:]

        /// The instant at which chains must be valid, or `nil` for the signing date of each document.
        public var chainDate: Date?

        /// The checker of revocations, or `nil` for none, as in StoreKit on a device. With a checker, a document is
        /// refused with `onlineCheckFailed` if there is no current answer about its chain. In that case, call
        /// ``SignedDataVerifier/online(_:)``.
        public var revocation: RevocationChecker?

        /// The largest size of a JWS in bytes. A notification contains other JWS documents.
        public var maximumLength = 256 * 1024

        /// The largest size of an encoded header in bytes. Apple's has 3.3 kB.
        public var maximumHeaderLength = 24 * 1024

        /// The number of chains in the cache. Apple uses a few at a time.
        public var chainCacheCapacity = 64

        /// The former name of `chainCacheCapacity`.
        @available(*, deprecated, renamed: "chainCacheCapacity")
        public var rememberedChains: Int {
            get { chainCacheCapacity }
            set { chainCacheCapacity = newValue }
        }

        /// The number of verified documents in the cache. Documents with a payload over 16 KiB are not cached.
        public var documentCacheCapacity = 1024

        /// The former name of `documentCacheCapacity`.
        @available(*, deprecated, renamed: "documentCacheCapacity")
        public var rememberedDocuments: Int {
            get { documentCacheCapacity }
            set { documentCacheCapacity = newValue }
        }

        /// Creates a configuration. Change other settings through the properties.
        ///
        /// - Parameters:
        ///   - bundleIDs: The accepted bundle ids, or `nil` for any.
        ///   - environments: The accepted environments, or `nil` for any in a chain of three certificates.
        ///   - appAppleID: The App Store's number of the app, or `nil` to accept any.
        ///   - trustAnchors: The roots at which a chain may end.
        public init(
            bundleIDs: Set<BundleID>?, environments: Set<AppStoreEnvironment>?, appAppleID: Int? = nil,
            trustAnchors: [TrustAnchor] = TrustAnchor.apple
        ) {
            self.bundleIDs = bundleIDs
            self.environments = environments
            self.appAppleID = appAppleID
            self.trustAnchors = trustAnchors
        }
    }
}

extension SignedDataVerifier.Configuration {
    /// Checks the app and environment of a document of this kind.
    func check<Fields: SignedPayloadFields>(
        _ audience: Audience?, of kind: Fields.Type
    ) throws(SignedDataError) {
        if let bundleIDs, Fields.namesBundle {
            guard let bundleID = audience?.bundleID else { throw missing("bundle id", in: Fields.title) }
            guard bundleIDs.contains(BundleID(unchecked: bundleID)) else {
                throw SignedDataError(.wrongBundle, "The \(Fields.title) is for the bundle \(Excerpt(bundleID)).")
            }
        }
        if let environments {
            guard let environment = audience?.environment else { throw missing("environment", in: Fields.title) }
            guard environments.contains(environment) else { throw refusal(of: environment, in: Fields.title) }
        }
        guard let expected = expectedAppAppleIDs(for: audience, by: Fields.appAppleIDRule) else { return }
        guard let number = audience?.appAppleID, expected.contains(number) else {
            throw SignedDataError(
                .wrongAppID, "The \(Fields.title) gives another App Store number of the app, or none.")
        }
    }

    /// Whether chains of one certificate are accepted.
    var acceptsLocalChains: Bool { !(environments ?? []).isDisjoint(with: AppStoreEnvironment.local) }

    /// Returns the accepted numbers for a document, or `nil` if the number is not checked. A document without a bundle
    /// id may be for any configured app.
    private func expectedAppAppleIDs(for audience: Audience?, by rule: AppAppleIDRule) -> Set<Int>? {
        switch rule {
        case .never: return nil
        case .inProduction:
            guard audience?.environment == .production else { return nil }
            let number = audience?.bundleID.flatMap { appAppleIDs[BundleID(unchecked: $0)] } ?? appAppleID
            return number.map { [$0] }
        case .always:
            let numbers = Set(appAppleIDs.values).union(appAppleID.map { [$0] } ?? [])
            return numbers.isEmpty ? nil : numbers
        }
    }

    private func missing(_ what: String, in title: String) -> SignedDataError {
        SignedDataError(.payloadMalformed, "The \(title) has no \(what).")
    }

    private func refusal(of environment: AppStoreEnvironment, in title: String) -> SignedDataError {
        let accepted = (environments ?? []).map(\.rawValue).sorted().joined(separator: ", ")
        let code: SignedDataError.Code = environments?.count == 1 ? .wrongEnvironment : .environmentNotAccepted
        return SignedDataError(
            code, "The \(title) is of the environment \(Excerpt(environment.rawValue)); accepted: \(accepted).")
    }
}
