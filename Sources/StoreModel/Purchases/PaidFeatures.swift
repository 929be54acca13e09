import Foundation
import Primitives

/// What a customer paid for, from every source, each purchase once. Equality does not depend on order.
///
///     if try await client.getPaidFeatures().hasActiveFeature(with: "pro") { … }
public struct PaidFeatures: Equatable, Sendable {
    /// In the order in which they were first reported.
    public let features: [PaidFeature]

    /// Of two reports of one purchase only the one that stands is kept (`merged(with:)`).
    ///
    /// - Parameter features: In the order in which they were first reported.
    public init(features: [PaidFeature] = []) {
        var kept: [PaidFeature] = []
        var places: [Purchase: Int] = [:]
        for feature in features {
            let purchase = Purchase(feature)
            guard let place = places[purchase] else {
                places[purchase] = kept.count
                kept.append(feature)
                continue
            }
            if feature.supersedes(kept[place]) { kept[place] = feature }
        }
        self.features = kept
    }

    /// Whether the feature called `name` may be used at `date`. Starts are inclusive, ends exclusive.
    public func hasActiveFeature(with name: String, at date: Date = Date()) -> Bool {
        features.contains { $0.name == name && $0.isActive(at: date) }
    }

    public func activeFeatures(at date: Date = Date()) -> [PaidFeature] { features.filter { $0.isActive(at: date) } }

    /// All purchases that give the feature called `name`.
    public subscript(name: String) -> [PaidFeature] { features.filter { $0.name == name } }

    /// Everything in both. Two reports of one purchase (the same feature, source and original transaction) become one:
    /// the server's stands against the device's, a fresh one against a last known one, else the one whose period began
    /// later, else the receiver's.
    public func merged(with other: PaidFeatures) -> PaidFeatures {
        PaidFeatures(features: features + other.features)
    }

    /// The same features, as a source said them the last time it could be asked.
    public var asLastKnown: PaidFeatures {
        PaidFeatures(
            features: features.map { feature in
                var feature = feature
                feature.authority = .lastKnown
                return feature
            })
    }

    public static func == (left: PaidFeatures, right: PaidFeatures) -> Bool {
        Set(left.features) == Set(right.features)
    }

    /// What makes two reports the same purchase; without an original transaction, only full equality does.
    private enum Purchase: Hashable {
        case transaction(feature: ExactString, source: PaidFeature.TransactionType, originalID: ExactString)
        case unnamed(PaidFeature)

        init(_ feature: PaidFeature) {
            if let originalID = feature.originalTransactionID {
                self = .transaction(
                    feature: ExactString(feature.name), source: feature.transactionType,
                    originalID: ExactString(originalID))
            } else {
                self = .unnamed(feature)
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
