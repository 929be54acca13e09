import Primitives
import StoreModel

/// A subscription group: of its products a customer has one at a time.
public struct CatalogueGroup: Sendable, Hashable {
    public var id: String
    /// The name in the file, which customers do not see.
    public var name: String
    public var localizations: [CatalogueText]
    /// Its products in the order of the file.
    public var products: [ProductID]
    /// Where the group stands in the document (RFC 6901).
    public var pointer: String

    public init(
        id: String, name: String, localizations: [CatalogueText] = [], products: [ProductID] = [], pointer: String = ""
    ) {
        self.id = id
        self.name = name
        self.localizations = localizations
        self.products = products
        self.pointer = pointer
    }

    /// What a customer sees: the name in the language of `locale`, else the file's own.
    public func displayName(for locale: String) -> String {
        localizations.best(for: locale).map(\.displayName).flatMap { $0.isEmpty ? nil : $0 } ?? name
    }
}

/// The app's licence agreement and privacy policies, which Xcode's store sheets show.
public struct AppPolicies: Sendable, Hashable {
    /// The licence agreement's text, or where it stands; empty for Apple's own.
    public var licenceAgreement: String
    public var policies: [Policy]

    public init(licenceAgreement: String = "", policies: [Policy] = []) {
        self.licenceAgreement = licenceAgreement
        self.policies = policies
    }

    public struct Policy: Sendable, Hashable {
        public var locale: String
        public var text: String
        public var url: String

        public init(locale: String, text: String, url: String) {
            self.locale = locale
            self.text = text
            self.url = url
        }
    }
}
