import Foundation
import Primitives

/// The features that a customer paid for, from all sources, with one entry for each feature of each purchase. Equality
/// ignores their order.
///
///     if try await client.getPaidFeatures().hasActiveFeature(with: "pro") { … }
public struct PaidFeatures: Equatable, Sendable {
    /// The features, in the order in which they were first reported.
    public let features: [PaidFeature]

    /// Creates a collection. Of two reports of one purchase only one is kept, as in ``merged(with:)``.
    ///
    /// - Parameter features: The features, in the order in which they were first reported.
    public init(features: [PaidFeature] = []) {
        var merged: [PaidFeature] = []
        var indexes: [Purchase: Int] = [:]
        for feature in features {
            let purchase = Purchase(feature)
            guard let index = indexes[purchase] else {
                indexes[purchase] = merged.count
                merged.append(feature)
                continue
            }
            if feature.supersedes(merged[index]) { merged[index] = feature }
        }
        self.features = merged
    }

    /// Returns whether the customer may use the feature `name` at `date`. Starts are inclusive, ends exclusive.
    ///
    /// - Parameters:
    ///   - name: The name of the feature.
    ///   - date: The instant.
    /// - Returns: Whether an entry of the feature is active.
    public func hasActiveFeature(with name: String, at date: Date = Date()) -> Bool {
        features.contains { $0.name == name && $0.isActive(at: date) }
    }

    /// Returns the features that the customer may use at `date`.
    ///
    /// - Parameter date: The instant.
    /// - Returns: The active entries.
    public func activeFeatures(at date: Date = Date()) -> [PaidFeature] { features.filter { $0.isActive(at: date) } }

    /// All purchases that give the feature `name`.
    ///
    /// - Parameter name: The name of the feature.
    /// - Returns: The entries, or an empty array.
    public subscript(name: String) -> [PaidFeature] { features.filter { $0.name == name } }

    /// Returns the features of both collections.
    ///
    /// Two reports of one purchase have the same feature, source and original transaction, and become one. The server's
    /// report has priority over the device's, and a current report over a last known one. Otherwise, of two
    /// subscription periods the one that began later is kept. If both began at the same time or one has no period, the
    /// report of this collection is kept.
    ///
    /// - Parameter other: The other collection.
    /// - Returns: The merged features.
    public func merged(with other: PaidFeatures) -> PaidFeatures {
        PaidFeatures(features: features + other.features)
    }

    /// The features, marked as last known, for a source that cannot be reached now.
    public var asLastKnown: PaidFeatures {
        PaidFeatures(
            features: features.map { feature in
                var feature = feature
                feature.authority = .lastKnown
                return feature
            })
    }

    /// Returns whether two collections have the same features, in any order.
    public static func == (left: PaidFeatures, right: PaidFeatures) -> Bool {
        Set(left.features) == Set(right.features)
    }

    /// The identity of a purchase. Without an original transaction, two reports are about one purchase only if they are
    /// equal.
    private enum Purchase: Hashable {
        case transaction(feature: ExactString, source: PaidFeature.TransactionType, originalID: ExactString)
        case withoutTransaction(PaidFeature)

        init(_ feature: PaidFeature) {
            if let originalID = feature.originalTransactionID {
                self = .transaction(
                    feature: ExactString(feature.name), source: feature.transactionType,
                    originalID: ExactString(originalID))
            } else {
                self = .withoutTransaction(feature)
            }
        }
    }
}

extension PaidFeature {
    fileprivate func supersedes(_ other: PaidFeature) -> Bool {
        if authority != other.authority { return authority > other.authority }
        guard case .subscription(let mine) = paymentType, case .subscription(let theirs) = other.paymentType else {
            return false
        }
        return mine.current.startDate > theirs.current.startDate
    }
}
