import HTTPCore
import Primitives

extension WireSchema {
    /// A day, or a date whose day counts.
    static let day = WireSchema(
        ["type": "string", "anyOf": [["format": "date"], ["format": "date-time"]]],
        "a day such as 2026-11-20, or a date of RFC 3339"
    ) { $0.stringValue.map { FigureInterval.day(from: $0) != nil } ?? false }

    private static let unit = text.described("count, money or ratio")

    static let figures = named("FigureList") {
        .object([
            .required(
                "figures",
                .array(
                    .object([
                        .required("name", .text), .required("unit", unit),
                        .required("summary", .text.described("what it is")),
                    ])))
        ])
    }

    static let figure = named("Figure") {
        .object([
            .required("name", .text), .required("unit", unit),
            .required("position", integer.described("the number of the last fact that the values contain")),
            .required("rows", .array(figureRow)),
            .optional(
                "currencyRates", figureRates.described("the table that converted the values, if currency asks for it")),
            .optional("commissions", .array(commission).described("the shares of the stores, for proceeds")),
        ])
    }

    private static let figureRates = WireSchema.object([
        .required("name", .text.described("the name that the operator gave the table")),
        .required("currency", .text.described("the currency of the converted values")),
        .required(
            "unconverted", .array(.text).described("the currencies without a rate, whose rows are not converted")),
    ])

    private static let commission = WireSchema.object([
        .required("source", .source), .required("share", .text.described("from 0 to 1, as a decimal string")),
    ])

    private static let figureRow = WireSchema.object([
        .required("at", .date.described("the first instant of the period")),
        .optional("group", .text.described("the value of the dimension; empty if unknown or without one")),
        .optional("age", integer.described("the age of a cohort in months, for retention")),
        .required(
            "value",
            WireSchema(["type": ["number", "string"]], "a number, or an amount of money as a decimal string") {
                if case .number = $0 { true } else { $0.stringValue != nil }
            }.described("a number for count and ratio, and a decimal string for money")),
        .optional("currency", .text.described("ISO 4217, for money")),
    ])
}
