import Primitives
import StoreModel

/// A subscription group: of its products a customer has one at a time.
package struct CatalogueGroup: Sendable, Hashable {
    package var id: String
    /// The name in the file, which customers do not see.
    package var name: String
    package var localizations: [CatalogueText]
    /// Its products in the order of the file.
    package var products: [ProductID]
    /// Where the group stands in the document (RFC 6901).
    package var pointer: String

    package init(
        id: String, name: String, localizations: [CatalogueText] = [], products: [ProductID] = [], pointer: String = ""
    ) {
        self.id = id
        self.name = name
        self.localizations = localizations
        self.products = products
        self.pointer = pointer
    }

    /// What a customer sees: the name in the language of `locale`, else the file's own.
    package func displayName(for locale: String) -> String {
        localizations.best(for: locale).map(\.displayName).flatMap { $0.isEmpty ? nil : $0 } ?? name
    }
}

/// The app's licence agreement and privacy policies, which Xcode's store sheets show.
package struct AppPolicies: Sendable, Hashable {
    /// The licence agreement's text, or where it stands; empty for Apple's own.
    package var licenceAgreement: String
    package var policies: [Policy]

    package init(licenceAgreement: String = "", policies: [Policy] = []) {
        self.licenceAgreement = licenceAgreement
        self.policies = policies
    }

    package struct Policy: Sendable, Hashable {
        package var locale: String
        package var text: String
        package var url: String

        package init(locale: String, text: String, url: String) {
            self.locale = locale
            self.text = text
            self.url = url
        }
    }
}
