import Foundation
import PluginHub
import Primitives

/// A value of a JSON file, with its location as a JSON pointer (RFC 6901). Errors name the location.
struct FileValue {
    let json: JSONValue
    let pointer: String

    /// Checks that the value is an object whose members are all in `names`.
    ///
    /// Throws `InterceptionError.invalidFile` otherwise. For an unknown member the message suggests the most similar
    /// name.
    func object(_ names: String...) throws -> FileValue {
        guard case .object(let members) = json else { throw refusal("must be an object") }
        for name in members.keys where !names.contains(name) {
            throw FileValue(json: .null, pointer: place(name)).refusal(
                "is not known here." + NearestName.hint(name, among: names))
        }
        return self
    }

    /// The member `name`, or `nil` if there is none.
    subscript(name: String) -> FileValue? {
        json[name].map { FileValue(json: $0, pointer: place(name)) }
    }

    func required(_ name: String) throws -> FileValue {
        guard let member = self[name] else {
            throw FileValue(json: .null, pointer: place(name)).refusal("is missing")
        }
        return member
    }

    private func place(_ name: String) -> String { JSONPointer.member(name, of: pointer) }

    func text() throws -> String {
        guard let text = json.stringValue else { throw refusal("must be a string") }
        return text
    }

    func bool() throws -> Bool {
        guard let bool = json.boolValue else { throw refusal("must be true or false") }
        return bool
    }

    func int(_ range: ClosedRange<Int> = 0...Int.max) throws -> Int {
        guard let int = json.intValue, range.contains(int) else {
            throw refusal(
                "must be a whole number of at least \(range.lowerBound)"
                    + (range.upperBound == .max ? "" : " and at most \(range.upperBound)"))
        }
        return int
    }

    func double(_ range: ClosedRange<Double>) throws -> Double {
        guard let double = json.doubleValue, range.contains(double) else {
            throw refusal("must be a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return double
    }

    /// A number of seconds from 0 to 3600.
    func duration() throws -> Duration { .seconds(try double(0...3600)) }

    func date() throws -> Date {
        guard let date = try RFC3339.date(from: text()) else { throw refusal("must be a date and time (RFC 3339)") }
        return date
    }

    func array() throws -> [FileValue] {
        guard let array = json.arrayValue else { throw refusal("must be an array") }
        return array.enumerated().map { FileValue(json: $1, pointer: "\(pointer)/\($0)") }
    }

    /// The case of `type` whose raw value is this string.
    func oneOf<Value: CaseIterable & RawRepresentable<String>>(_ type: Value.Type) throws -> Value {
        guard let value = try Value(rawValue: text()) else {
            throw refusal("must be one of " + Value.allCases.map(\.rawValue).joined(separator: ", "))
        }
        return value
    }

    func refusal(_ sentence: String, _ underlying: (any Error)? = nil) -> InterceptionError {
        let place = pointer.isEmpty ? "The file" : pointer
        return InterceptionError(
            .invalidFile, "\(place) \(sentence)\(sentence.hasSuffix("?") || sentence.hasSuffix(".") ? "" : ".")",
            underlying: underlying)
    }
}
