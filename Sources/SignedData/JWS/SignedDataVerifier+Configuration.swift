import AppStorePayloads
import Foundation
import StoreModel

extension SignedDataVerifier {
    /// Whom a verifier trusts and what it accepts.
    public struct Configuration: Sendable {
        /// The roots a chain may end at.
        public var trustAnchors: [TrustAnchor]

        /// The bundle ids accepted. `nil` accepts any: for looking at a file, never in a server.
        public var bundleIDs: Set<BundleID>?

        /// The environments accepted. `nil` accepts any of a chain of three: for looking at a file, never in a server.
        ///
        /// Documents of StoreKit Testing in Xcode, whose chains are of one certificate, are accepted only when `xcode` or
        /// `localTesting` is named here and their certificate or key is among `trustAnchors`.
        public var environments: Set<AppStoreEnvironment>?

        /// The App Store's number of the app, which notifications and app transactions of production must then give, and
        /// realtime requests always. `nil` does not check it.
        public var appAppleID: Int?

        /// The same for each of several apps, by bundle id; one that is not here is checked against `appAppleID`.
        public var appAppleIDs: [BundleID: Int] = [:]

        /// The instant to judge chains at; `nil` is the instant at which each document was signed.
        public var chainDate: Date?

        /// Who asks whether certificates were revoked; `nil` asks nobody, as StoreKit on a device does not. With it, what is
        /// signed under a chain without a current answer is refused with `onlineCheckFailed`: verify within `online`.
        public var revocation: RevocationChecker?

        /// The most bytes a JWS may have. A notification carries two more inside it.
        public var maximumLength = 256 * 1024

        /// The most bytes its header may have, still encoded. Apple's has 3.3 kB.
        public var maximumHeaderLength = 24 * 1024

        /// How many chains are kept. Apple uses a handful at a time.
        public var rememberedChains = 64

        /// How many verified documents are kept for the case that they come again; those over 16 kB never are.
        public var rememberedDocuments = 1024

        /// What must be decided; everything else is a variable.
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
    func check<Fields: SignedPayloadFields>(_ payload: AppStorePayload<Fields>) throws(SignedDataError) {
        let audience = payload.audience
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

    /// Whether chains of one certificate are accepted at all.
    var acceptsLocalChains: Bool { !(environments ?? []).isDisjoint(with: AppStoreEnvironment.local) }

    /// The numbers of which a document must give one; `nil` when that is not checked.
    private func expectedAppAppleIDs(for audience: Audience?, by rule: AppAppleIDRule) -> Set<Int>? {
        switch rule {
        case .never: return nil
        case .inProduction:
            guard audience?.environment == .production else { return nil }
            let number = audience?.bundleID.flatMap { appAppleIDs[BundleID(unchecked: $0)] } ?? appAppleID
            return number.map { [$0] }
        case .always:
            // It names no bundle, so it may be for any of the apps configured.
            let numbers = Set(appAppleIDs.values).union(appAppleID.map { [$0] } ?? [])
            return numbers.isEmpty ? nil : numbers
        }
    }

    private func missing(_ what: String, in title: String) -> SignedDataError {
        SignedDataError(.payloadMalformed, "The \(title) names no \(what).")
    }

    private func refusal(of environment: AppStoreEnvironment, in title: String) -> SignedDataError {
        let accepted = (environments ?? []).map(\.rawValue).sorted().joined(separator: ", ")
        let code: SignedDataError.Code = environments?.count == 1 ? .wrongEnvironment : .environmentNotAccepted
        return SignedDataError(
            code, "The \(title) is of the environment \(Excerpt(environment.rawValue)); accepted: \(accepted).")
    }
}
