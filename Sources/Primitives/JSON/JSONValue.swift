import Foundation

/// A JSON document (RFC 8259). It keeps the order of members and the text of numbers.
///
/// Strings and names are equal when their bytes are equal. An object never has two names that differ only in their
/// Unicode form.
///
///     let value: JSONValue = ["name": "pro", "seats": 3]
///     value["name"]?.stringValue            // "pro"
public enum JSONValue: Sendable {
    /// The value null.
    case null
    /// A Boolean.
    case bool(Bool)
    /// A number.
    case number(JSONNumber)
    /// A string.
    case string(String)
    /// An array.
    case array([JSONValue])
    /// An object.
    case object(JSONMembers)

    /// Returns an object with the members of a dictionary, ordered by name.
    ///
    /// - Parameter members: The members by name.
    /// - Returns: The object.
    public static func object(_ members: JSONObject) -> JSONValue {
        .object(JSONMembers(members))
    }
}

extension JSONValue: Hashable {
    /// Returns whether both documents are equal. Ignores the order of members.
    public static func == (left: JSONValue, right: JSONValue) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.bool(let left), .bool(let right)): left == right
        case (.number(let left), .number(let right)): left == right
        case (.string(let left), .string(let right)): left.hasSameBytes(as: right)
        case (.array(let left), .array(let right)): left == right
        case (.object(let left), .object(let right)): left == right
        default: false
        }
    }

    /// Hashes the document without the order of its members.
    public func hash(into hasher: inout Hasher) {
        switch self {
        case .null: hasher.combine(0)
        case .bool(let value): hasher.combine(value)
        case .number(let value): hasher.combine(value)
        case .string(let value): hasher.combine(ExactString(value))
        case .array(let elements): hasher.combine(elements)
        case .object(let members): hasher.combine(members)
        }
    }
}

/// The members of a JSON object as a dictionary, without their order.
public typealias JSONObject = [String: JSONValue]

extension JSONValue {
    /// Whether the value is null.
    public var isNull: Bool { self == .null }

    /// The Boolean, or `nil` for another kind.
    public var boolValue: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }

    /// The string, or `nil` for another kind.
    public var stringValue: String? {
        if case .string(let value) = self { value } else { nil }
    }

    /// The number as an `Int`, or `nil` for another kind or a number that an `Int` cannot express.
    public var intValue: Int? {
        if case .number(let value) = self { value.int } else { nil }
    }

    /// The number as a `Double`, or `nil` for another kind.
    public var doubleValue: Double? {
        if case .number(let value) = self { value.double } else { nil }
    }

    /// The elements, or `nil` for another kind.
    public var arrayValue: [JSONValue]? {
        if case .array(let value) = self { value } else { nil }
    }

    /// The members as a dictionary, or `nil` for another kind.
    public var objectValue: JSONObject? {
        if case .object(let value) = self { value.dictionary } else { nil }
    }

    /// A member of an object, or `nil` for another kind or a missing member.
    ///
    /// Setting a member of a value that is not an object replaces the value by an object.
    ///
    /// - Parameter name: The name of the member, compared as in ``JSONMembers``.
    public subscript(name: String) -> JSONValue? {
        get {
            if case .object(let members) = self { members[name] } else { nil }
        }
        set {
            var members = JSONMembers()
            if case .object(let present) = self { members = present }
            members[name] = newValue
            self = .object(members)
        }
    }

    /// The same document with the members of each object ordered by name.
    package var sortedByName: JSONValue {
        switch self {
        case .array(let elements): .array(elements.map(\.sortedByName))
        case .object(let members): .object(members.sortedByName)
        default: self
        }
    }

    /// An element of an array, or `nil` for another kind or an index outside the array.
    ///
    /// - Parameter index: The index of the element.
    public subscript(index: Int) -> JSONValue? {
        guard case .array(let elements) = self, elements.indices.contains(index) else { return nil }
        return elements[index]
    }
}

extension JSONValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByStringLiteral, ExpressibleByStringInterpolation, ExpressibleByArrayLiteral,
    ExpressibleByDictionaryLiteral
{
    /// Creates the value null.
    public init(nilLiteral: ()) { self = .null }
    /// Creates a Boolean from `value`.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    /// Creates a number from `value`.
    public init(integerLiteral value: Int) { self = .number(JSONNumber(value)) }
    /// Creates a number from `value`.
    public init(floatLiteral value: Double) { self = .number(JSONNumber(value)) }
    /// Creates a string from `value`.
    public init(stringLiteral value: String) { self = .string(value) }
    /// Creates an array of `elements`.
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    /// Creates an object with the members `elements`, in their order.
    public init(dictionaryLiteral elements: (String, JSONValue)...) { self = .object(JSONMembers(elements)) }
}

extension JSONValue {
    /// Returns a number with the value of `value`.
    public static func number(_ value: Int) -> JSONValue { .number(JSONNumber(value)) }
    /// Returns a number with the value of `value`.
    public static func number(_ value: Int64) -> JSONValue { .number(JSONNumber(value)) }
    /// Returns a number with the value of `value`; infinity and NaN become 0.
    public static func number(_ value: Double) -> JSONValue { .number(JSONNumber(value)) }
}

/// A number with its JSON text. Two numbers are equal when their values are equal.
public struct JSONNumber: Sendable, CustomStringConvertible {
    /// The text from the document, for example `1e3`.
    public let text: String

    /// Creates a number from the integer `value`.
    public init(_ value: some FixedWidthInteger & Sendable) { text = String(value) }

    /// Creates a number from `value`. Infinity and NaN, which JSON cannot express, become `0`.
    public init(_ value: Double) {
        if !value.isFinite {
            text = "0"
        } else if value == value.rounded(), abs(value) < 1e15 {
            text = String(Int64(value))
        } else {
            text = "\(value)"
        }
    }

    /// Creates a number from `text`, or returns `nil` when `text` is not a JSON number, for example because of a space.
    public init?(text: String) {
        guard let first = text.utf8.first, let last = text.utf8.last, !Self.isSpace(first), !Self.isSpace(last),
            case .number? = try? JSONValue(parsing: text)
        else { return nil }
        self.text = text
    }

    init(checked text: String) { self.text = text }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

    /// The number as an `Int`, or `nil` when it is not an integer or out of range: `1.50e2` is 150, and `0.5` is `nil`.
    public var int: Int? { integer() }

    /// Returns the number as an integer of any type, or `nil` when it is not an integer or does not fit.
    func integer<Integer: FixedWidthInteger>() -> Integer? { Integer(text) ?? exactInteger() }

    /// Converts the digits, because `Double` would change a large number. Integers of 128 bits have at most 39 digits.
    private func exactInteger<Integer: FixedWidthInteger>() -> Integer? {
        let parts = text.split(whereSeparator: { $0 == "e" || $0 == "E" })
        guard let mantissa = parts.first, parts.count <= 2 else { return nil }
        let isNegative = mantissa.hasPrefix("-")
        let whole = mantissa.utf8.drop { $0 == UInt8(ascii: "-") }
        let fraction = whole.firstIndex(of: UInt8(ascii: ".")).map { whole[whole.index(after: $0)...].count } ?? 0
        var digits = whole.filter { $0 != UInt8(ascii: ".") }
        guard digits.contains(where: { $0 != UInt8(ascii: "0") }) else { return 0 }
        guard var exponent = parts.count == 2 ? Int(parts[1]) : 0, exponent.magnitude <= 1 << 40 else { return nil }
        exponent -= fraction
        while digits.last == UInt8(ascii: "0") {
            digits.removeLast()
            exponent += 1
        }
        guard (0...38).contains(exponent) else { return nil }
        digits += [UInt8](repeating: UInt8(ascii: "0"), count: exponent)
        return Integer((isNegative ? "-" : "") + String(decoding: digits, as: UTF8.self))
    }

    /// The nearest `Double`.
    public var double: Double? { Double(text) }
    /// The number as a `Decimal`.
    public var decimal: Decimal? { Decimal(string: text, locale: nil) }
    /// The text.
    public var description: String { text }
}

extension JSONNumber: Hashable {
    /// Returns whether both numbers have the same value.
    public static func == (left: JSONNumber, right: JSONNumber) -> Bool {
        if left.text == right.text { return true }
        if let one = Int(left.text), let other = Int(right.text) { return one == other }
        return left.value == right.value
    }

    /// Hashes the value of the number.
    public func hash(into hasher: inout Hasher) { hasher.combine(value) }

    /// The exact value of a number: digits without leading and trailing zeros, and the power of ten.
    private struct Value: Hashable {
        var isNegative = false
        var digits: [UInt8] = []
        var exponent = 0
        /// An exponent whose magnitude exceeds 2^60, as text.
        var hugeExponent: Substring?
    }

    /// The exact value, computed from the digits, because different numbers can have the same `Double`. Zero has
    /// neither a sign nor an exponent.
    private var value: Value {
        let parts = text.split { $0 == "e" || $0 == "E" }
        let mantissa = (parts.first ?? "").utf8
        let whole = mantissa.drop { $0 == UInt8(ascii: "-") }
        var value = Value(
            isNegative: mantissa.count != whole.count,
            digits: Array(whole.filter { $0 != UInt8(ascii: ".") }.drop { $0 == UInt8(ascii: "0") }))
        guard !value.digits.isEmpty else { return Value() }
        let fraction = whole.firstIndex(of: UInt8(ascii: ".")).map { whole[whole.index(after: $0)...].count } ?? 0
        var zeros = 0
        while value.digits.last == UInt8(ascii: "0") {
            value.digits.removeLast()
            zeros += 1
        }
        value.exponent = zeros - fraction
        guard parts.count == 2 else { return value }
        if let exponent = Int(parts[1]), exponent.magnitude <= 1 << 60 {
            value.exponent += exponent
        } else {
            value.hugeExponent = parts[1].drop { $0 == "+" || $0 == "0" }
        }
        return value
    }
}

/// The members of a JSON object in their order. Equality ignores the order.
///
/// A name is found by its bytes. Names are unique under canonical equivalence: setting "é" replaces a member that has
/// this name in another Unicode form, so every reader finds the same member.
public struct JSONMembers: Sendable, RandomAccessCollection, ExpressibleByDictionaryLiteral {
    /// A member with its name.
    public typealias Element = (key: String, value: JSONValue)
    private var entries: [Entry] = []

    private struct Entry: Sendable {
        let key: String
        let value: JSONValue
    }

    /// Creates an empty object.
    public init() {}

    /// Creates an object from pairs; the last pair of a name wins.
    ///
    /// - Parameter pairs: Names and values, in order.
    public init(_ pairs: some Sequence<(String, JSONValue)>) {
        var places: [String: Int] = [:]
        for (name, value) in pairs {
            guard isLarge else {
                self[name] = value
                continue
            }
            if places.isEmpty { places = Dictionary(uniqueKeysWithValues: entries.enumerated().map { ($1.key, $0) }) }
            if let place = places[name] {
                entries[place] = Entry(key: name, value: value)
            } else {
                places[name] = entries.count
                entries.append(Entry(key: name, value: value))
            }
        }
    }

    /// Creates an object from a dictionary, ordered by name.
    ///
    /// - Parameter object: The members by name.
    public init(_ object: JSONObject) {
        entries = object.sorted { $0.key.bytesPrecede($1.key) }.map { Entry(key: $0.key, value: $0.value) }
    }

    /// Creates an object with the members `elements`, in their order.
    public init(dictionaryLiteral elements: (String, JSONValue)...) { self.init(elements) }

    /// The value of a member. Setting `nil` removes the member; setting a new name appends it.
    ///
    /// - Parameter name: The name of the member. Reading and removing compare its bytes. Setting also replaces a member
    ///   whose name differs only in its Unicode form.
    public subscript(name: String) -> JSONValue? {
        get { entries.first { $0.key.hasSameBytes(as: name) }?.value }
        set {
            guard let newValue else { return entries.removeAll { $0.key.hasSameBytes(as: name) } }
            let entry = Entry(key: name, value: newValue)
            if let index = entries.firstIndex(where: { $0.key == name }) {
                entries[index] = entry
            } else {
                entries.append(entry)
            }
        }
    }

    fileprivate var sortedByName: JSONMembers {
        var sorted = JSONMembers()
        sorted.entries = entries.map { Entry(key: $0.key, value: $0.value.sortedByName) }
            .sorted { $0.key.bytesPrecede($1.key) }
        return sorted
    }

    /// An index: the position of each name.
    typealias Places = [ExactString: Int]
    /// The number of members from which an index is used. For fewer members, a linear search is faster.
    private static let indexThreshold = 16

    /// Whether an index is faster than a linear search.
    var isLarge: Bool { entries.count >= Self.indexThreshold }

    /// Returns the positions of all names, for many searches, or `nil` for few members.
    func places() -> Places? {
        guard isLarge else { return nil }
        return Places(uniqueKeysWithValues: entries.enumerated().map { (ExactString($1.key), $0) })
    }

    /// Appends a member whose name is not in the object.
    mutating func append(_ name: String, _ value: JSONValue) { entries.append(Entry(key: name, value: value)) }

    /// The position of the first member, 0.
    public var startIndex: Int { 0 }
    /// The number of members.
    public var endIndex: Int { entries.count }
    /// The member at a position.
    ///
    /// - Parameter position: An index of the collection.
    public subscript(position: Int) -> Element { (entries[position].key, entries[position].value) }
    /// The names, in order.
    public var keys: [String] { entries.map(\.key) }
    /// The values, in order.
    public var values: [JSONValue] { entries.map(\.value) }
    /// The members as a dictionary.
    public var dictionary: JSONObject { JSONObject(uniqueKeysWithValues: entries.map { ($0.key, $0.value) }) }
}

extension JSONMembers: Hashable {
    /// Returns whether both objects have the same members in any order.
    public static func == (left: JSONMembers, right: JSONMembers) -> Bool {
        left.count == right.count && left.byExactName == right.byExactName
    }

    /// Hashes the members without their order.
    public func hash(into hasher: inout Hasher) { hasher.combine(byExactName) }

    private var byExactName: [ExactString: JSONValue] {
        Dictionary(uniqueKeysWithValues: entries.map { (ExactString($0.key), $0.value) })
    }
}

extension JSONValue: Codable {
    /// Reads a document from any decoder.
    ///
    /// - Parameter decoder: The decoder.
    /// - Throws: The error of the decoder.
    public init(from decoder: any Decoder) throws {
        if let decoder = decoder as? JSONValueDecoder {
            self = decoder.value
        } else if let keyed = try? decoder.container(keyedBy: AnyName.self) {
            var members = JSONMembers()
            for key in keyed.allKeys { members[key.stringValue] = try keyed.decode(JSONValue.self, forKey: key) }
            self = .object(members)
        } else if var list = try? decoder.unkeyedContainer() {
            var elements: [JSONValue] = []
            while !list.isAtEnd { elements.append(try list.decode(JSONValue.self)) }
            self = .array(elements)
        } else {
            self = try JSONValue(scalarFrom: decoder.singleValueContainer())
        }
    }

    private init(scalarFrom container: any SingleValueDecodingContainer) throws {
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .number(JSONNumber(value))
        } else if let value = try? container.decode(Double.self) {
            self = .number(JSONNumber(value))
        } else {
            self = .string(try container.decode(String.self))
        }
    }

    /// Writes the document to any encoder.
    ///
    /// - Parameter encoder: The encoder.
    /// - Throws: The error of the encoder.
    public func encode(to encoder: any Encoder) throws {
        switch self {
        case .object(let members):
            var container = encoder.container(keyedBy: AnyName.self)
            for (name, value) in members { try container.encode(value, forKey: AnyName(stringValue: name)) }
        case .array(let elements):
            var container = encoder.unkeyedContainer()
            for element in elements { try container.encode(element) }
        case .null:
            var container = encoder.singleValueContainer()
            try container.encodeNil()
        case .bool(let value):
            var container = encoder.singleValueContainer()
            try container.encode(value)
        case .string(let value):
            var container = encoder.singleValueContainer()
            try container.encode(value)
        case .number(let value):
            if let encoder = encoder as? JSONValueEncoder { return encoder.put(self) }
            var container = encoder.singleValueContainer()
            if let integer = Int64(value.text) {
                try container.encode(integer)
            } else if let decimal = value.decimal {
                try container.encode(decimal)
            } else {
                try container.encode(value.double ?? 0)
            }
        }
    }

    private struct AnyName: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }
}

extension JSONValue {
    /// Decodes the document as a type of the caller.
    ///
    /// Dates are numbers: seconds since 2001, as `Date` itself reads them.
    ///
    ///     let policy = try JSONValue(parsing: bytes).decode(Policy.self)
    ///
    /// - Parameter type: The type to decode.
    /// - Returns: The decoded value.
    /// - Throws: `DecodingError` with the path of the value that does not fit.
    public func decode<T: Decodable>(_ type: T.Type) throws -> T { try JSONValueDecoder.decode(type, from: self) }

    /// Encodes a value of the caller, in the form that ``decode(_:)`` reads.
    ///
    /// - Parameter value: The value to encode.
    /// - Throws: `EncodingError` for a value that JSON cannot express, such as NaN.
    public init(encoding value: some Encodable) throws { self = try JSONValueEncoder.encode(value) }
}
