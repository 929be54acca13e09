import Foundation
import Primitives
import StoreModel

/// A reader of a catalogue in JSON. An invalid value adds a finding.
protocol CatalogueFieldReader {
    /// The name of the file in the findings.
    var file: String { get }
    var findings: [CatalogueFinding] { get set }
}

extension CatalogueFieldReader {
    /// The maximum length of a catalogue, in bytes.
    static var byteLimit: Int { 16 << 20 }

    /// Parses a file. Returns `nil` unless it is a JSON object, which `rule` says.
    mutating func document(_ bytes: [UInt8], _ rule: String) -> JSONPlace? {
        guard bytes.count <= Self.byteLimit else {
            fail(.tooLarge, "", "a catalogue can have at most \(Self.byteLimit) bytes; this one has \(bytes.count)")
            return nil
        }
        let document: JSONValue
        do {
            document = try JSONValue(parsing: bytes)
        } catch {
            fail(.notJSON, "", "this is not JSON: \(error)")
            return nil
        }
        let root = JSONPlace(value: document, pointer: "")
        guard root.isObject else {
            fail(.wrongShape, "", rule)
            return nil
        }
        return root
    }

    var hasErrors: Bool { findings.contains { $0.severity == .error } }

    mutating func fail(_ code: CatalogueFinding.Code, _ pointer: String, _ reason: String) {
        findings.append(
            .init(severity: .error, code: code, file: file, pointer: pointer, reason: Self.readable(reason)))
    }

    mutating func warn(_ code: CatalogueFinding.Code, _ pointer: String, _ reason: String) {
        findings.append(
            .init(severity: .warning, code: code, file: file, pointer: pointer, reason: Self.readable(reason)))
    }

    /// Shortens a reason and replaces its control characters, because it quotes the file.
    private static func readable(_ reason: String) -> String {
        let isControl = CharacterSet.controlCharacters.contains
        let scalars = reason.unicodeScalars.map { isControl($0) ? "\u{FFFD}" : $0 }
        let text = scalars.prefix(300).map(String.init).joined()
        return scalars.count > 300 ? text + "…" : text
    }

    mutating func list(_ place: JSONPlace, _ name: String) -> [JSONPlace] {
        guard let member = place[name] else { return [] }
        guard let elements = member.elements else {
            fail(.wrongShape, member.pointer, "\(name) should be a list")
            return []
        }
        return elements
    }

    mutating func text(_ place: JSONPlace, _ name: String) -> String? {
        guard let member = place[name] else { return nil }
        if member.value.stringValue == nil { fail(.wrongShape, member.pointer, "\(name) should be a string") }
        return member.value.stringValue
    }

    /// Reads a string that is a name. It must be in Unicode's form NFC, so that it has one spelling.
    mutating func name(_ place: JSONPlace, _ name: String) -> String? {
        guard let text = text(place, name) else { return nil }
        if text.isInNormalFormC { return text }
        fail(
            .badIdentifier, "\(place.pointer)/\(name)",
            "the \(name) is not in Unicode's form NFC; write its letters with their accents composed")
        return nil
    }

    mutating func flag(_ place: JSONPlace, _ name: String) -> Bool? {
        guard let member = place[name] else { return nil }
        if member.value.boolValue == nil {
            warn(.wrongShape, member.pointer, "\(name) should be true or false; it is ignored")
        }
        return member.value.boolValue
    }

    mutating func count(_ place: JSONPlace, _ name: String) -> Int? {
        guard let member = place[name] else { return nil }
        guard let value = member.value.intValue, (1...1000).contains(value) else {
            fail(.badCount, member.pointer, "\(name) should be a whole number from 1 to 1000")
            return nil
        }
        return value
    }

    mutating func period(_ place: JSONPlace, _ name: String, of owner: String) -> SubscriptionPeriod? {
        guard let text = text(place, name) else {
            if place[name] == nil {
                fail(.missingField, "\(place.pointer)/\(name)", "the \(name) of \(owner) is missing")
            }
            return nil
        }
        guard let period = SubscriptionPeriod(iso8601: text) else {
            fail(
                .badPeriod, "\(place.pointer)/\(name)", "\"\(text)\" is not a period; write one such as P1W, P1M or P1Y"
            )
            return nil
        }
        guard period.isSellable else {
            fail(
                .badPeriod, "\(place.pointer)/\(name)",
                "\(text) is too short or too long; write a period from a day to three years, such as P1M")
            return nil
        }
        return period
    }
}

/// Functions that read the fields of a StoreKit catalogue.
extension CatalogueReader {
    /// Reads a price from 0 to 1,000,000 as a decimal string or a number. It has at most three decimals, because the
    /// store counts in milliunits.
    mutating func price(_ place: JSONPlace, _ name: String = "displayPrice", of owner: String) -> Price? {
        let pointer = "\(place.pointer)/\(name)"
        guard let member = place[name] else {
            fail(.missingField, pointer, "the \(name) of \(owner) is missing")
            return nil
        }
        let text: String? =
            if case .number(let number) = member.value { number.text } else { member.value.stringValue }
        guard let text, let amount = JSONNumber(text: text)?.decimal, amount >= 0, amount <= 1_000_000,
            Price(milliunits: Price(amount: amount, currency: "").milliunits, currency: "").amount == amount
        else {
            fail(
                .badPrice, pointer,
                "\(member.value) is not a price; write a decimal string such as \"4.99\", with at most three decimals")
            return nil
        }
        return Price(amount: amount, currency: storefront.currency)
    }

    /// Reads names in several languages. Ignores an entry without a locale.
    mutating func texts(_ place: JSONPlace) -> [CatalogueText] {
        var texts: [CatalogueText] = []
        for entry in list(place, "localizations") {
            guard let locale = text(entry, "locale") else {
                warn(
                    .missingField, "\(entry.pointer)/locale",
                    "the locale of these names is missing; the names are ignored")
                continue
            }
            texts.append(
                CatalogueText(
                    locale: locale, displayName: text(entry, "displayName") ?? "",
                    description: text(entry, "description") ?? ""))
        }
        return texts
    }
}

extension SubscriptionPeriod {
    /// Whether a catalogue can have this period: from a day to three years.
    var isSellable: Bool {
        let start = Date(timeIntervalSince1970: 0)
        let end = end(from: start)
        return end >= SubscriptionPeriod.days(1).end(from: start) && end <= SubscriptionPeriod.years(3).end(from: start)
    }
}
