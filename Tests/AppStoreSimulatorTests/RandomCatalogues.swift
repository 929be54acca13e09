import Primitives

@testable import AppStoreSimulator

/// A repeatable source of random numbers (SplitMix64).
struct CatalogueNumbers: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

extension JSONValue {
    private static let names = ["a", "B", "_c", "d/e", "~f", "long name", "ü", "quote\"", "1"]
    private static let numbers = ["0", "-1", "1.50", "1e3", "654321987.10299996", "12345678901234567890"]

    static func random(using numbers: inout CatalogueNumbers, depth: Int) -> JSONValue {
        switch Int.random(in: 0..<(depth > 0 ? 8 : 5), using: &numbers) {
        case 0: .null
        case 1: .bool(.random(using: &numbers))
        case 2: JSONNumber(text: Self.numbers.randomElement(using: &numbers) ?? "0").map { .number($0) } ?? 0
        case 3: .string(names.randomElement(using: &numbers) ?? "")
        case 4: .string("tab\tline\n\u{1}[{,}]\\")
        case 5:
            .array((0..<Int.random(in: 0..<4, using: &numbers)).map { _ in random(using: &numbers, depth: depth - 1) })
        default: randomObject(using: &numbers, depth: depth - 1)
        }
    }

    static func randomObject(using numbers: inout CatalogueNumbers, depth: Int) -> JSONValue {
        var members = JSONMembers()
        for name in names.shuffled(using: &numbers).prefix(Int.random(in: 0..<6, using: &numbers)) {
            members[name] = random(using: &numbers, depth: depth)
        }
        return .object(members)
    }

    /// Returns the path of a random place, which may be missing, and its new value, or `nil` for its removal. Returns
    /// `nil` if the path ends at a scalar.
    func randomEdit(using numbers: inout CatalogueNumbers) -> (steps: [String], value: JSONValue?)? {
        var steps: [String] = []
        var value = self
        while true {
            let isLast = Int.random(in: 0..<3, using: &numbers) == 0
            switch value {
            case .object(let members):
                let known =
                    isLast ? Self.names.randomElement(using: &numbers) : members.keys.randomElement(using: &numbers)
                guard let name = known else { return nil }
                steps.append(name)
                guard !isLast, let next = members[name] else { break }
                value = next
                continue
            case .array(let elements):
                let index = Int.random(in: 0...elements.count, using: &numbers)
                steps.append("\(index)")
                guard !isLast, index < elements.count else { break }
                value = elements[index]
                continue
            default:
                break
            }
            if steps.isEmpty { return nil }
            // The removal of an absent member changes nothing; an index must exist.
            let removes = Int.random(in: 0..<3, using: &numbers) == 0
            return (steps, removes ? nil : .random(using: &numbers, depth: 2))
        }
    }

    /// Applies an edit of `randomEdit(using:)` to this value.
    mutating func apply(_ steps: ArraySlice<String>, _ value: JSONValue?) {
        guard let step = steps.first else {
            if let value { self = value }
            return
        }
        let rest = steps.dropFirst()
        switch self {
        case .object:
            if rest.isEmpty {
                self[step] = value
            } else if var next = self[step] {
                next.apply(rest, value)
                self[step] = next
            }
        case .array(var elements):
            guard let index = Int(step) else { return }
            if index == elements.count {
                if let value { elements.append(value) }
            } else if rest.isEmpty {
                if let value { elements[index] = value } else { elements.remove(at: index) }
            } else {
                elements[index].apply(rest, value)
            }
            self = .array(elements)
        default: break
        }
    }
}

/// A random style of JSON: one line or many, with or without spaces, with any of three line ends.
struct RandomJSONStyle {
    private let isMultiline: Bool
    private let unit: String
    private let lineBreak: String
    private let colon: String
    private let comma: String
    private let escapesSlash: Bool

    init(using numbers: inout CatalogueNumbers) {
        isMultiline = .random(using: &numbers)
        unit = ["", " ", "  ", "    ", "\t"].randomElement(using: &numbers) ?? ""
        lineBreak = ["\n", "\r\n", "\n\n"].randomElement(using: &numbers) ?? "\n"
        colon = [":", ": ", " : ", "\t:"].randomElement(using: &numbers) ?? ":"
        comma = [",", ", ", " ,"].randomElement(using: &numbers) ?? ","
        escapesSlash = .random(using: &numbers)
    }

    func write(_ value: JSONValue, using numbers: inout CatalogueNumbers, depth: Int = 0) -> String {
        switch value {
        case .object(let members):
            let parts = members.map {
                "\(scalar(.string($0.key)))\(colon)" + write($0.value, using: &numbers, depth: depth + 1)
            }
            return list("{", parts, "}", using: &numbers, depth)
        case .array(let elements):
            let parts = elements.map { write($0, using: &numbers, depth: depth + 1) }
            return list("[", parts, "]", using: &numbers, depth)
        default: return scalar(value)
        }
    }

    private func list(
        _ open: String, _ parts: [String], _ close: String, using numbers: inout CatalogueNumbers, _ depth: Int
    ) -> String {
        if parts.isEmpty, Bool.random(using: &numbers) { return open + close }
        guard isMultiline, !(depth > 0 && Int.random(in: 0..<4, using: &numbers) == 0) else {
            return open + parts.joined(separator: comma) + close
        }
        let inner = lineBreak + String(repeating: unit, count: depth + 1)
        let outer = lineBreak + String(repeating: unit, count: depth)
        return open + (parts.isEmpty ? lineBreak : inner) + parts.joined(separator: comma + inner) + outer + close
    }

    private func scalar(_ value: JSONValue) -> String {
        escapesSlash ? value.text().replacing("/", with: "\\/") : value.text()
    }
}
