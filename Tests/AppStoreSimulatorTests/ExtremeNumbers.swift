import Foundation
import Primitives

/// Every number in a JSON document, and what it is replaced by to try the limits of arithmetic.
struct ExtremeNumbers {
    /// The largest and the smallest there are, those that lose their last digit as `Double`, dates that no calendar has, and
    /// what is next to nothing.
    static let all: [JSONNumber] = [
        "\(Int64.max)", "\(Int64.min)", "\(Int64.max - 1)", "\(UInt64.max)", "9007199254740992", "-9007199254740992",
        "253402300799999999", "1e308", "-1e308", "1e-300", "0.5", "-1", "0", "1000000",
    ].compactMap { JSONNumber(text: $0) }

    /// Where the numbers of `value` are; of the elements of an array that have the same form only the first `sample`.
    static func paths(in value: JSONValue, sample: Int = 1) -> [JSONPlaces.Path] {
        JSONPlaces.paths(in: value, sample: sample) { if case .number = $0 { true } else { false } }
    }

    /// With `SOUK_EXTREMES` each number is replaced by each extreme.
    static let isWhole = ProcessInfo.processInfo.environment["SOUK_EXTREMES"] != nil

    /// Each number replaced by the largest and by every tenth other extreme, in turn, one at a time.
    static func mutations(of value: JSONValue, sample: Int = 1) -> [(
        path: JSONPlaces.Path, number: JSONNumber, value: JSONValue
    )] {
        paths(in: value, sample: sample).enumerated().flatMap { index, path in
            all.enumerated().filter { isWhole || $0.offset == 0 || ($0.offset + index) % 10 == 0 }
                .map { (path, $0.element, JSONPlaces.replace(path, in: value, with: .number($0.element))) }
        }
    }
}
