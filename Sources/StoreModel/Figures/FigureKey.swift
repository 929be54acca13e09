import Primitives

/// The quantity that a contribution changes. The raw values are stored.
package enum FigureMeasure: String, CaseIterable, Sendable {
    /// The change of the number of paid subscriptions that are active at the end of a day.
    case active
    /// The change of the number of free periods that are active at the end of a day.
    case trials
    /// The change of the monthly recurring revenue at the end of a day.
    case mrr
    case new, reactivated, lost
    case mrrNew, mrrExpansion, mrrContraction, mrrReactivation, mrrChurn
    case trialsStarted
    /// Conversions on the day of the first paid period.
    case conversions
    /// Conversions on the day on which the trial started.
    case trialsConverted
    case payments, revenue, refunded, refunds
    /// Subscriptions in a paid period `age` months after `day`, the day of their first paid period.
    case retained
    /// Revenue `age` months after `day`, the day of the first paid period of the subscription.
    case cohortRevenue
}

/// The place of a contribution: a measure on a day, with its dimensions.
package struct FigureKey: Hashable, Sendable {
    package var measure: FigureMeasure
    /// The number of days since 1970-01-01 in UTC.
    package var day: Int64
    /// The age in whole months for `retained` and `cohortRevenue`; 0 for other measures.
    package var age: Int64 = 0
    package var product: ExactString = ""
    /// The country of the storefront; empty if unknown.
    package var country: ExactString = ""
    package var source: ExactString = ""
    /// The kind and identifier of the offer; empty without an offer.
    package var offer: ExactString = ""
    package var currency: ExactString = ""

    package init(
        _ measure: FigureMeasure, day: Int64, age: Int64 = 0, product: ExactString = "", country: ExactString = "",
        source: ExactString = "", offer: ExactString = "", currency: ExactString = ""
    ) {
        self.measure = measure
        self.day = day
        self.age = age
        self.product = product
        self.country = country
        self.source = source
        self.offer = offer
        self.currency = currency
    }
}

/// Contributions with their sum for each key. A sum of 0 is left out, so equal figures are equal values.
package struct FigureSums: Equatable, Sendable {
    package private(set) var values: [FigureKey: FigureValue] = [:]

    package init() {}

    package mutating func add(_ value: Int64, to key: FigureKey) { add(sum: FigureValue(value), to: key) }

    package mutating func add(sum: FigureValue, to key: FigureKey) {
        guard !sum.isZero else { return }
        let total = values[key, default: 0] + sum
        values[key] = total.isZero ? nil : total
    }

    package mutating func add(_ other: FigureSums) {
        for (key, value) in other.values { add(sum: value, to: key) }
    }

    package mutating func subtract(_ other: FigureSums) {
        for (key, value) in other.values { add(sum: -value, to: key) }
    }
}
