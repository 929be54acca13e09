import Foundation

/// A feature and the time in which a customer may use it, but not the purchase behind it.
public struct Feature: Hashable, Sendable {
    /// The name of the feature.
    public var name: String
    /// The first instant of access.
    public var startDate: Date
    /// The end of access, exclusive, or `nil` if it does not end.
    public var endDate: Date?

    /// Creates a feature.
    ///
    /// - Parameters:
    ///   - name: The name of the feature.
    ///   - startDate: The first instant of access.
    ///   - endDate: The end of access, exclusive, or `nil` if it does not end.
    public init(name: String, startDate: Date, endDate: Date? = nil) {
        self.name = name
        self.startDate = startDate
        self.endDate = endDate
    }

    /// Whether access does not end.
    public var isLifetime: Bool { endDate == nil }

    /// Returns whether the customer may use the feature at `date`. The start is inclusive, the end exclusive.
    ///
    /// - Parameter date: The instant.
    /// - Returns: Whether `date` is within the time of access.
    public func isActive(at date: Date = Date()) -> Bool {
        startDate <= date && endDate.map { date < $0 } ?? true
    }
}

/// The features that a customer may use, from all sources. Equality ignores their order.
public struct Features: Equatable, Sendable {
    /// The features, in the order in which they were added.
    public let features: [Feature]

    /// Creates a collection of features. Duplicates are removed.
    ///
    /// - Parameter features: The features, in the order in which they were added.
    public init(features: [Feature] = []) {
        var seen: Set<Feature> = []
        self.features = features.filter { seen.insert($0).inserted }
    }

    /// All entries of the feature `name`.
    ///
    /// - Parameter name: The name of the feature.
    /// - Returns: The entries, or an empty array.
    public subscript(name: String) -> [Feature] { features.filter { $0.name == name } }

    /// Returns the features that the customer may use at `date`.
    ///
    /// - Parameter date: The instant.
    /// - Returns: The active entries.
    public func activeFeatures(at date: Date = Date()) -> [Feature] { features.filter { $0.isActive(at: date) } }

    /// Returns whether the customer may use the feature `name` at `date`.
    ///
    /// - Parameters:
    ///   - name: The name of the feature.
    ///   - date: The instant.
    /// - Returns: Whether an entry of the feature is active.
    public func hasActiveFeature(with name: String, at date: Date = Date()) -> Bool {
        features.contains { $0.name == name && $0.isActive(at: date) }
    }

    /// Returns the features of both collections, without duplicates.
    ///
    /// - Parameter other: The other collection.
    /// - Returns: The merged features.
    public func merged(with other: Features) -> Features { Features(features: features + other.features) }

    /// Returns whether two collections have the same features, in any order.
    public static func == (left: Features, right: Features) -> Bool { Set(left.features) == Set(right.features) }
}
