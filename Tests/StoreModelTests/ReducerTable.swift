import Foundation
import StoreModel
import Testing

/// A row of the tables in `Documentation/Entitlements.md`: facts in its words, a day, and the expected answer.
struct ReducerRow: Sendable, CustomTestStringConvertible {
    static let header = ["facts", "day", "feature", "subscription", "changes", "because"]

    let facts: String
    /// Days since the first purchase.
    let instant: Double
    let expected: [String]

    var testDescription: String { "\(facts) on day \(instant)" }

    /// Returns the rows of all tables with these columns.
    static func all() throws -> [ReducerRow] {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../Documentation/Entitlements.md")
        var rows: [ReducerRow] = []
        var isInTable = false
        for line in try String(contentsOf: file, encoding: .utf8).split(
            separator: "\n", omittingEmptySubsequences: false)
        {
            let cells = line.split(separator: "|", omittingEmptySubsequences: false).dropFirst().dropLast()
                .map { $0.trimmingCharacters(in: .whitespaces) }
            if cells == header {
                isInTable = true
            } else if cells.count != header.count {
                isInTable = false
            } else if isInTable, !cells[0].hasPrefix("---") {
                guard let instant = Double(cells[1]) else { throw ReducerRowError("no day: \(line)") }
                let facts = cells[0].trimmingCharacters(in: ["`"])
                rows.append(ReducerRow(facts: facts, instant: instant, expected: Array(cells[2...])))
            }
        }
        return rows
    }

    /// Returns the answer of the reducer, in the words of the table.
    func answered() throws -> [String] {
        let customer = answer(try state(), at: instant, map: FeatureMap(features: ["pro": [monthly, yearly]]))
        return [
            Self.cell(customer.features.map(Self.words)), Self.cell(customer.subscriptions.map(\.state.rawValue)),
            customer.validUntil.map(Self.dayNumber) ?? "–", Self.cell(customer.features.map(\.because)),
        ]
    }

    private static func words(_ feature: CustomerFeature) -> String {
        guard let until = feature.effectiveUntil.map(dayNumber) else {
            return "\(feature.name) \(feature.isActive ? "on" : "off")"
        }
        return "\(feature.name) \(feature.isActive ? "on until" : "off since") \(until)"
    }

    private static func cell(_ parts: [String]) -> String { parts.isEmpty ? "–" : parts.joined(separator: "; ") }

    private static func dayNumber(_ date: Date) -> String {
        let number = (date.timeIntervalSince(day(0)) / 86400 * 1000).rounded() / 1000
        return number == number.rounded() ? String(Int(number)) : String(number)
    }

    // MARK: - Facts

    private func state() throws -> CustomerState {
        var state = CustomerState()
        for text in facts.split(separator: ";") {
            var words = text.split(whereSeparator: { $0 == " " || $0 == "," }).map(String.init)[...]
            let kind = words.popFirst() ?? ""
            guard let when = words.popFirst() else { throw ReducerRowError("a fact has no day: \(text)") }
            switch kind {
            case "said": state.apply(try Self.renewal(when, words))
            case "grant":
                let (from, until) = try Self.span(when)
                state.apply(
                    Grant(id: "g", feature: "pro", from: day(from), until: until.map { day($0) }, reason: "support"))
            case "play", "second":
                let (fact, renewal) = try Self.second(kind, when, words)
                state.apply(fact)
                state.apply(renewal)
            default: state.apply(try Self.transaction(kind, when, words))
            }
        }
        return state
    }

    /// Parses `0–30` or `0`.
    private static func span(_ text: String) throws -> (from: Double, until: Double?) {
        let ends = text.split(separator: "–").map { Double($0) }
        guard let first = ends.first, let from = first, ends.count < 3 else {
            throw ReducerRowError("not a span of days: \(text)")
        }
        guard let last = ends.dropFirst().first else { return (from, nil) }
        guard let until = last else { throw ReducerRowError("not a span of days: \(text)") }
        return (from, until)
    }

    private static func number(_ words: inout ArraySlice<String>) throws -> Double {
        guard let number = words.popFirst().flatMap({ Double($0) }) else {
            throw ReducerRowError("a number is missing")
        }
        return number
    }

    private static func transaction(
        _ kind: String, _ when: String, _ words: ArraySlice<String>
    ) throws -> TransactionFact {
        let (from, until) = try span(when)
        var words = words
        var (signed, revoked): (Double, Double?) = (from, nil)
        var (isUpgraded, isShared, isRestored, isReceipt) = (false, false, false, false)
        while let word = words.popFirst() {
            switch word {
            case "signed": signed = try number(&words)
            case "revoked": revoked = try number(&words)
            case "upgraded": isUpgraded = true
            case "shared": isShared = true
            case "restored": isRestored = true
            case "receipt": isReceipt = true
            default: throw ReducerRowError("not a word of a transaction: \(word)")
            }
        }
        let id = TransactionID(unchecked: "\(kind) \(from)")
        switch kind {
        case "month", "year", "trial":
            guard let until else { throw ReducerRowError("a period has no end: \(when)") }
            var fact = period(
                id, product: kind == "year" ? yearly : monthly, from: from, to: until, signed: signed, revoked: revoked,
                isUpgraded: isUpgraded, isTrial: kind == "trial")
            fact.isFamilyShared = isShared
            fact.isFromReceipt = isReceipt
            return fact
        case "tools", "coins", "season":
            let kinds: [String: ProductType] = [
                "tools": .nonConsumable, "coins": .consumable, "season": .nonRenewingSubscription,
            ]
            var fact = purchase(
                id, of: isRestored ? TransactionID(unchecked: "\(kind) 0.0") : nil, ProductID(unchecked: kind),
                kind: kinds[kind] ?? .nonConsumable, at: from, until: until, signed: signed, revoked: revoked,
                isFamilyShared: isShared)
            fact.isFromReceipt = isReceipt
            return fact
        default: throw ReducerRowError("not a fact: \(kind)")
        }
    }

    /// Parses a period of another subscription, with its renewal info: one at Google Play, or of another group of the App
    /// Store.
    private static func second(
        _ kind: String, _ when: String, _ words: ArraySlice<String>
    ) throws -> (TransactionFact, RenewalFact) {
        let (from, until) = try span(when)
        guard let until else { throw ReducerRowError("a period has no end: \(when)") }
        let id: TransactionID = kind == "play" ? "play.2" : "2"
        var fact = period(id, of: id, product: monthly, from: from, to: until)
        if kind == "play" { fact.source = .googlePlay }
        var renewal = RenewalFact(originalID: id, renewsTo: monthly, signedDate: day(from), digest: Array(when.utf8))
        var words = words
        while let word = words.popFirst() {
            switch word {
            case "renews": renewal.autoRenews = true
            case "ends": renewal.autoRenews = false
            case "retries": renewal.isInBillingRetry = true
            case "committed": renewal.renewsCommitment = false
            case "shared": fact.isFamilyShared = true
            case "trial": (fact.isTrial, fact.price) = (true, Price(amount: 0, currency: "EUR"))
            case "free": fact.price = Price(amount: 0, currency: "EUR")
            case "other": (fact.productID, renewal.renewsTo) = ("tools", "tools")
            case "revoked": fact.revocationDate = day(try number(&words))
            default: throw ReducerRowError("another subscription has an unknown word: \(word)")
            }
        }
        return (fact, renewal)
    }

    private static func renewal(_ when: String, _ words: ArraySlice<String>) throws -> RenewalFact {
        guard let signed = Double(when.trimmingCharacters(in: [":"])) else {
            throw ReducerRowError("not a day: \(when)")
        }
        var fact = RenewalFact(originalID: "1", renewsTo: monthly, signedDate: day(signed), digest: Array(when.utf8))
        var words = words
        while let word = words.popFirst() {
            switch word {
            case "renews": fact.autoRenews = true
            case "ends": fact.autoRenews = false
            case "as":
                guard words.popFirst() == "year" else { throw ReducerRowError("renews as what?") }
                fact.renewsTo = yearly
            case "retries": fact.isInBillingRetry = true
            case "grace": fact.gracePeriodExpiresDate = day(try number(&words))
            default: throw ReducerRowError("not a word of a renewal info: \(word)")
            }
        }
        return fact
    }
}

struct ReducerRowError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
