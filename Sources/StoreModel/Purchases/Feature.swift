import Foundation

/// A feature and the time in which a customer may use it, without saying what was paid.
public struct Feature: Hashable, Sendable {
    public var name: String
    /// The first instant; inclusive.
    public var startDate: Date
    /// Exclusive; `nil` for one that does not end.
    public var endDate: Date?

    public init(name: String, startDate: Date, endDate: Date? = nil) {
        self.name = name
        self.startDate = startDate
        self.endDate = endDate
    }

    public var isLifetime: Bool { endDate == nil }

    /// Whether it may be used at `date`: from the start on, and no longer at the end.
    public func isActive(at date: Date = Date()) -> Bool {
        startDate <= date && endDate.map { date < $0 } ?? true
    }
}

/// What a customer may use, from every source. Equality does not depend on order.
public struct Features: Equatable, Sendable {
    /// Each once, in the order in which they were added.
    public let features: [Feature]

    public init(features: [Feature] = []) {
        var seen: Set<Feature> = []
        self.features = features.filter { seen.insert($0).inserted }
    }

    /// All entries of the feature called `name`.
    public subscript(name: String) -> [Feature] { features.filter { $0.name == name } }

    public func activeFeatures(at date: Date = Date()) -> [Feature] { features.filter { $0.isActive(at: date) } }

    public func hasActiveFeature(with name: String, at date: Date = Date()) -> Bool {
        features.contains { $0.name == name && $0.isActive(at: date) }
    }

    /// Both; what they share once.
    public func merged(with other: Features) -> Features { Features(features: features + other.features) }

    public static func == (left: Features, right: Features) -> Bool { Set(left.features) == Set(right.features) }
}
