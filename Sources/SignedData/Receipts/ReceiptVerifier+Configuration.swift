import Foundation
import StoreModel

extension ReceiptVerifier {
    /// The trusted roots and accepted receipts of a verifier.
    public struct Configuration: Sendable {
        /// The roots at which the certificates of a receipt may end. If a root is given as a certificate, the receipt
        /// must contain exactly this certificate, so that no part of a receipt can be replaced.
        public var trustAnchors: [TrustAnchor]

        /// The accepted bundle ids, or `nil` for any. Use `nil` only to inspect a file, never in a server.
        public var bundleIDs: Set<BundleID>?

        /// The accepted environments, with the names of `AppReceipt.environment`, or `nil` for any except the local
        /// ones. Volume Purchase Program receipts count as production or sandbox. Use `nil` only to inspect a file.
        ///
        /// Receipts of StoreKit Testing in Xcode are accepted only if this set has `xcode` and their certificate or its
        /// key is among the anchors.
        public var environments: Set<AppStoreEnvironment>?

        /// The instant at which the certificates must be valid, or `nil` for the creation date of the receipt.
        public var chainDate: Date?

        /// The largest size of a receipt in bytes. A receipt of 3000 purchases has about a megabyte.
        public var maximumLength = 4 << 20

        /// The largest number of attributes, including those of purchases. A purchase has about 20.
        public var maximumAttributes = 100_000

        /// The number of certificate chains in the cache. Apple uses a few at a time.
        public var chainCacheCapacity = 64

        /// The former name of `chainCacheCapacity`.
        @available(*, deprecated, renamed: "chainCacheCapacity")
        public var rememberedChains: Int {
            get { chainCacheCapacity }
            set { chainCacheCapacity = newValue }
        }

        /// Creates a configuration. Change other settings through the properties.
        ///
        /// - Parameters:
        ///   - bundleIDs: The accepted bundle ids, or `nil` for any.
        ///   - environments: The accepted environments, with the names of `AppReceipt.environment`, or `nil` for any
        ///     except the local ones.
        ///   - trustAnchors: The roots at which the certificates of a receipt may end.
        public init(
            bundleIDs: Set<BundleID>?, environments: Set<AppStoreEnvironment>?,
            trustAnchors: [TrustAnchor] = TrustAnchor.apple
        ) {
            self.bundleIDs = bundleIDs
            self.environments = environments
            self.trustAnchors = trustAnchors
        }
    }
}

extension ReceiptVerifier.Configuration {
    var acceptsLocalReceipts: Bool { !(environments ?? []).isDisjoint(with: AppStoreEnvironment.local) }

    func check(_ receipt: AppReceipt) throws(SignedDataError) {
        try checkEnvironment(of: receipt)
        guard let bundleIDs else { return }
        guard let bundleID = receipt.bundleID else { throw Self.missing("bundle id") }
        guard bundleIDs.contains(bundleID) else {
            throw SignedDataError(.wrongBundle, "The receipt is for the bundle \(Excerpt(bundleID.rawValue)).")
        }
    }

    private func checkEnvironment(of receipt: AppReceipt) throws(SignedDataError) {
        guard let environment = receipt.environment else {
            if environments == nil { return }
            throw Self.missing("type, which identifies its environment")
        }
        if let environments {
            guard !environments.contains(environment) else { return }
        } else if !AppStoreEnvironment.local.contains(environment) {
            return
        }
        let accepted = environments.map { $0.map(\.rawValue).sorted().joined(separator: ", ") }
        throw SignedDataError(
            environments?.count == 1 ? .wrongEnvironment : .environmentNotAccepted,
            "The receipt is of the type \(Excerpt(receipt.receiptType ?? "")); "
                + (accepted.map { "accepted: \($0)." }
                    ?? "receipts of development machines are accepted only if they are configured."))
    }

    static func missing(_ what: String) -> SignedDataError {
        SignedDataError(.payloadMalformed, "The receipt has no \(what).")
    }
}
