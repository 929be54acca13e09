import StoreModel

/// Tells which subscriptions count in several apps of one seller.
public protocol MultiAppSubscriptionClassifier: Sendable {
    /// Whether a subscription of `product`, whichever app sold it, counts in this app too.
    func isMultiAppSubscription(_ product: ProductID) -> Bool
}

/// Goes by a word in a product's identifier: with the marker `MultiApp`, subscriptions of
/// `com.example.darkroom_Pro_MultiApp.Monthly` count in several apps, those of `com.example.darkroom_Pro_Monthly` do not.
public struct ServiceLevelMarkerClassifier: MultiAppSubscriptionClassifier {
    private let marker: [Substring]

    /// - Parameter marker: one word or several, compared whole and with case; `.` and `_` end a word. Nothing counts when
    ///   there is no word in it.
    public init(marker: String) { self.marker = Self.words(marker) }

    public func isMultiAppSubscription(_ product: ProductID) -> Bool {
        !marker.isEmpty && Self.words(product.rawValue).contains(marker)
    }

    private static func words(_ text: String) -> [Substring] { text.split { $0 == "." || $0 == "_" } }
}
