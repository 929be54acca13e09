import Foundation
import Primitives

/// The numbers in a JSON document, and extreme values to replace them.
struct ExtremeNumbers {
    /// The largest and smallest numbers, numbers that lose their last digit as `Double`, dates that no calendar has,
    /// and numbers next to zero.
    static let all: [JSONNumber] = [
        "\(Int64.max)", "\(Int64.min)", "\(Int64.max - 1)", "\(UInt64.max)", "9007199254740992", "-9007199254740992",
        "253402300799999999", "1e308", "-1e308", "1e-300", "0.5", "-1", "0", "1000000",
    ].compactMap { JSONNumber(text: $0) }

    /// Returns the places of the numbers in `value`. In arrays whose elements have the same places, uses only the first
    /// `sample` elements.
    static func paths(in value: JSONValue, sample: Int = 1) -> [JSONPlaces.Path] {
        JSONPlaces.paths(in: value, sample: sample) { if case .number = $0 { true } else { false } }
    }

    /// Whether the tests try each extreme value in each place (`SOUK_EXTREMES`).
    static let isWhole = ProcessInfo.processInfo.environment["SOUK_EXTREMES"] != nil

    /// Returns mutations of a document, each with one number replaced. Uses the largest value and about every tenth
    /// other one, or all values if `isWhole`.
    static func mutations(of value: JSONValue, sample: Int = 1) -> [(
        path: JSONPlaces.Path, number: JSONNumber, value: JSONValue
    )] {
        paths(in: value, sample: sample).enumerated().flatMap { index, path in
            all.enumerated().filter { isWhole || $0.offset == 0 || ($0.offset + index) % 10 == 0 }
                .map { (path, $0.element, JSONPlaces.replace(path, in: value, with: .number($0.element))) }
        }
    }
}
