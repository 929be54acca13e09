import Foundation
import StoreModel

extension ReceiptVerifier {
    /// Whom a verifier trusts and what it accepts.
    public struct Configuration: Sendable {
        /// The roots a receipt's certificates may end at. Of a root given as a certificate, the receipt must hold the very
        /// same bytes: nothing in a receipt may be exchangeable.
        public var trustAnchors: [TrustAnchor]

        /// The bundle ids accepted. `nil` accepts any: for looking at a file, never in a server.
        public var bundleIDs: Set<BundleID>?

        /// The environments accepted, as `AppReceipt.environment` names them: those of the Volume Purchase Program are
        /// those of the store they belong to. `nil` accepts any but those of development machines: for looking at a file.
        ///
        /// Receipts of StoreKit Testing in Xcode are accepted only when this names `xcode` and the certificate they were
        /// signed with is among the anchors.
        public var environments: Set<AppStoreEnvironment>?

        /// The instant to judge the certificates at; `nil` is the receipt's creation date.
        public var chainDate: Date?

        /// The most bytes a receipt may have. One of 3000 purchases has a megabyte.
        public var maximumLength = 4 << 20

        /// The most attributes a receipt may have, those of its purchases included. A purchase has about 20.
        public var maximumAttributes = 100_000

        /// How many chains of certificates are kept. Apple uses a handful at a time.
        public var rememberedChains = 64

        /// What must be decided; everything else is a variable.
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
            throw Self.missing("type, which says in which environment it was made")
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
                    ?? "receipts of development machines are accepted on request only."))
    }

    static func missing(_ what: String) -> SignedDataError {
        SignedDataError(.payloadMalformed, "The receipt names no \(what).")
    }
}
