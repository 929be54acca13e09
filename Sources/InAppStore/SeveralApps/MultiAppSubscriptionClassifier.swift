import StoreModel

/// Decides which subscriptions give access in several apps of one seller.
public protocol MultiAppSubscriptionClassifier: Sendable {
    /// Returns whether a subscription of `product` gives access in this app too, even if another app sold it.
    func isMultiAppSubscription(_ product: ProductID) -> Bool
}

/// Decides by a word in a product's id, the marker of its service level. With the marker `MultiApp`, subscriptions of
/// `com.example.darkroom_Pro_MultiApp.Monthly` count in several apps, but those of `com.example.darkroom_Pro_Monthly`
/// do not.
public struct ServiceLevelMarkerClassifier: MultiAppSubscriptionClassifier {
    private let marker: [Substring]

    /// Creates a classifier.
    ///
    /// - Parameter marker: One or more whole words; `.` and `_` separate words. The comparison is case-sensitive. With
    ///   an empty marker, no subscription counts.
    public init(marker: String) { self.marker = Self.words(marker) }

    public func isMultiAppSubscription(_ product: ProductID) -> Bool {
        !marker.isEmpty && Self.words(product.rawValue).contains(marker)
    }

    private static func words(_ text: String) -> [Substring] { text.split { $0 == "." || $0 == "_" } }
}
