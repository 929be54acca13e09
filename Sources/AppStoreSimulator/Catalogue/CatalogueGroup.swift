import Primitives
import StoreModel

/// A subscription group. A customer can have one of its products at a time.
package struct CatalogueGroup: Sendable, Hashable {
    package var id: String
    /// The name in the file. Customers do not see it.
    package var name: String
    package var localizations: [CatalogueText]
    /// The products in the order of the file.
    package var products: [ProductID]
    /// The place of the group in the document (RFC 6901).
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

    /// Returns the name that customers see: that of the best localization for `locale`, or `name` if it is missing or
    /// empty.
    package func displayName(for locale: String) -> String {
        localizations.best(for: locale).map(\.displayName).flatMap { $0.isEmpty ? nil : $0 } ?? name
    }
}

/// The app's licence agreement and privacy policies, which Xcode's store sheets show.
package struct AppPolicies: Sendable, Hashable {
    /// The text or the URL of the licence agreement; empty for Apple's standard one.
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
