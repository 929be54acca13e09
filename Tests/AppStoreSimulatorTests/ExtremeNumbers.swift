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

    /// From the root of the document: names of members and indexes. `..` opens a text that is itself JSON.
    typealias Path = [String]

    private static let inner = ".."

    /// Where the numbers of `value` are; of the elements of an array that have the same form only the first `sample`.
    static func paths(in value: JSONValue, sample: Int = 1) -> [Path] {
        switch value {
        case .number: return [[]]
        case .object(let members):
            return members.flatMap { member in paths(in: member.value, sample: sample).map { [member.key] + $0 } }
        case .array(let elements):
            var seen: [String: Int] = [:]
            return elements.enumerated().flatMap { index, element -> [Path] in
                let paths = paths(in: element, sample: sample)
                return paths.compactMap { path in
                    let form = path.joined(separator: "/")
                    seen[form, default: 0] += 1
                    return seen[form, default: 0] <= sample ? ["\(index)"] + path : nil
                }
            }
        case .string(let text):
            guard text.utf8.first == 0x7B || text.utf8.first == 0x5B || JSONNumber(text: text) != nil,
                let json = try? JSONValue(parsing: text)
            else { return [] }
            return paths(in: json, sample: sample).map { [inner] + $0 }
        default: return []
        }
    }

    /// `value` with the number at `path` replaced.
    static func replace(_ path: Path, in value: JSONValue, with number: JSONNumber) -> JSONValue {
        guard let step = path.first else { return .number(number) }
        let rest = Array(path.dropFirst())
        switch value {
        case .object(var members):
            if let old = members[step] { members[step] = replace(rest, in: old, with: number) }
            return .object(members)
        case .array(var elements):
            if let index = Int(step), elements.indices.contains(index) {
                elements[index] = replace(rest, in: elements[index], with: number)
            }
            return .array(elements)
        case .string(let text):
            guard let json = try? JSONValue(parsing: text) else { return value }
            return .string(replace(rest, in: json, with: number).text(pretty: false))
        default: return value
        }
    }

    /// With `SOUK_EXTREMES` each number is replaced by each extreme.
    static let isWhole = ProcessInfo.processInfo.environment["SOUK_EXTREMES"] != nil

    /// Each number replaced by the largest and by every tenth other extreme, in turn, one at a time.
    static func mutations(of value: JSONValue, sample: Int = 1) -> [(path: Path, number: JSONNumber, value: JSONValue)]
    {
        paths(in: value, sample: sample).enumerated().flatMap { index, path in
            all.enumerated().filter { isWhole || $0.offset == 0 || ($0.offset + index) % 10 == 0 }
                .map { (path, $0.element, replace(path, in: value, with: $0.element)) }
        }
    }
}
