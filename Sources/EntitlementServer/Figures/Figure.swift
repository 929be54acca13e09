import StoreModel

/// A figure that the server serves, with its formula over the daily sums.
package struct Figure: Sendable {
    package enum Unit: String, Sendable {
        /// A whole number.
        case count
        /// An amount in one currency.
        case money
        /// A ratio, such as 0.05. Churn can exceed 1.
        case ratio
    }

    enum Formula: Sendable {
        /// The sum of all changes up to the end of a period.
        case level(FigureMeasure)
        /// The sum of a period.
        case flow(FigureMeasure)
        /// The sum of a period, divided by another sum of the same period.
        case ratio(FigureMeasure, to: FigureMeasure)
        /// The sum of a period, divided by the level before the period.
        case ratioToLevel(FigureMeasure, to: FigureMeasure)
        /// The sum of a period, divided by a count of the same period.
        case mean(FigureMeasure, of: FigureMeasure)
        /// The sum of a period without the commissions of the sources.
        case withoutCommission(FigureMeasure)
        /// For each age, the part of a period's new subscriptions that are active at this age.
        case retention
    }

    package let name: String
    package let unit: Unit
    /// A phrase that defines the figure.
    package let summary: String
    let formula: Formula

    var isWithoutCommission: Bool { if case .withoutCommission = formula { true } else { false } }

    private init(_ name: String, _ unit: Unit, _ summary: String, _ formula: Formula) {
        self.name = name
        self.unit = unit
        self.summary = summary
        self.formula = formula
    }

    /// All figures, in the order of their list.
    package static let all = [
        Figure("active-subscriptions", .count, "paid subscriptions at the end of a period", .level(.active)),
        Figure("active-trials", .count, "free periods at the end of a period", .level(.trials)),
        Figure("new-subscriptions", .count, "subscriptions that were paid for the first time", .flow(.new)),
        Figure(
            "reactivated-subscriptions", .count, "subscriptions that were paid again after an end", .flow(.reactivated)),
        Figure("lost-subscriptions", .count, "subscriptions whose paid time ended", .flow(.lost)),
        Figure(
            "churn", .ratio, "lost subscriptions in relation to those active before", .ratioToLevel(.lost, to: .active)),
        Figure("trials-started", .count, "free periods that began", .flow(.trialsStarted)),
        Figure("trial-conversions", .count, "trials that became paid subscriptions", .flow(.conversions)),
        Figure(
            "trial-conversion-rate", .ratio, "the part of the trials of a period that became paid",
            .ratio(.trialsConverted, to: .trialsStarted)),
        Figure("mrr", .money, "monthly recurring revenue at the end of a period", .level(.mrr)),
        Figure("mrr-new", .money, "monthly revenue of new subscriptions", .flow(.mrrNew)),
        Figure("mrr-expansion", .money, "monthly revenue that higher prices added", .flow(.mrrExpansion)),
        Figure("mrr-contraction", .money, "monthly revenue that lower prices took away", .flow(.mrrContraction)),
        Figure("mrr-reactivation", .money, "monthly revenue of reactivated subscriptions", .flow(.mrrReactivation)),
        Figure("mrr-churn", .money, "monthly revenue of lost subscriptions", .flow(.mrrChurn)),
        Figure("payments", .count, "transactions with a price above zero", .flow(.payments)),
        Figure("revenue", .money, "payments, less refunds on the day of the refund", .flow(.revenue)),
        Figure("proceeds", .money, "revenue, less the commissions of the stores", .withoutCommission(.revenue)),
        Figure("refunded-payments", .count, "payments that were refunded", .flow(.refunded)),
        Figure("refunds", .money, "the refunded amounts", .flow(.refunds)),
        Figure(
            "retention", .ratio, "the part of the subscriptions of a period that are active months later", .retention),
        Figure(
            "lifetime-value", .money, "revenue until now of a new subscription of a period",
            .mean(.cohortRevenue, of: .new)),
    ]

    package static func named(_ name: String) -> Figure? { all.first { $0.name.utf8.elementsEqual(name.utf8) } }
}
