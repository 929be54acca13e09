import Foundation

/// A JSON parsing error with its position.
public struct JSONError: Error, Equatable, CustomStringConvertible {
    /// A description of the error.
    public let reason: String
    /// The line, counted from 1.
    public let line: Int
    /// The column, counted from 1 in bytes.
    public let column: Int

    /// Creates an error.
    ///
    /// - Parameters:
    ///   - reason: A description of the error.
    ///   - line: The line, counted from 1.
    ///   - column: The column, counted from 1 in bytes.
    public init(reason: String, line: Int, column: Int) {
        self.reason = reason
        self.line = line
        self.column = column
    }

    /// The reason and the position.
    public var description: String { "\(reason) at line \(line), column \(column)" }
}

extension JSONValue {
    /// The default limit for the nesting of arrays and objects.
    public static let defaultDepth = 128
    /// The limit, in bytes of UTF-8, for a member name that is not ASCII. Normalising a name takes time in proportion
    /// to the square of its length.
    public static let longestName = 1024

    /// Parses a JSON document (RFC 8259) in UTF-8.
    ///
    /// Refuses duplicate names, lone surrogates, trailing bytes and deeper nesting than `depth`. Names that differ only
    /// in their Unicode form are duplicates, so a name that is not ASCII has at most `longestName` bytes. The caller
    /// limits the size of the document.
    ///
    /// - Parameters:
    ///   - bytes: The document.
    ///   - depth: The limit for the nesting of arrays and objects.
    /// - Throws: ``JSONError`` with the position of the first error.
    public init(parsing bytes: some Sequence<UInt8>, depth: Int = defaultDepth) throws(JSONError) {
        let buffer = Array(bytes)
        self = try buffer.withUnsafeBufferPointer { bytes throws(JSONError) in
            var parser = JSONParser(bytes: bytes, depthLeft: depth)
            return try parser.document()
        }
    }

    /// Parses a JSON document (RFC 8259).
    ///
    /// - Parameters:
    ///   - text: The document.
    ///   - depth: The limit for the nesting of arrays and objects.
    /// - Throws: ``JSONError`` with the position of the first error.
    public init(parsing text: String, depth: Int = defaultDepth) throws(JSONError) {
        try self.init(parsing: Array(text.utf8), depth: depth)
    }
}

/// A recursive-descent parser over bytes, which must outlive it.
///
/// The bytes are a buffer, because each access to an array that is a member of a mutable struct takes several
/// instructions more. `next` checks each position.
struct JSONParser {
    let bytes: UnsafeBufferPointer<UInt8>
    var depthLeft: Int
    var position = 0
    private var isLastStringASCII = false

    init(bytes: UnsafeBufferPointer<UInt8>, depthLeft: Int) {
        self.bytes = bytes
        self.depthLeft = depthLeft
    }

    mutating func document() throws(JSONError) -> JSONValue {
        let value = try value()
        skipWhiteSpace()
        guard position == bytes.count else { throw failure("unexpected text after the end of the document") }
        return value
    }

    func failure(_ reason: String) -> JSONError {
        let seen = bytes.prefix(position)
        let line = seen.reduce(1) { $1 == 0x0A ? $0 + 1 : $0 }
        let start = seen.lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
        return JSONError(reason: reason, line: line, column: position - start + 1)
    }

    var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    mutating func skipWhiteSpace() {
        while let byte = next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
    }

    mutating func value() throws(JSONError) -> JSONValue {
        skipWhiteSpace()
        switch next {
        case UInt8(ascii: "{"): return try nested { parser throws(JSONError) in try parser.object() }
        case UInt8(ascii: "["): return try nested { parser throws(JSONError) in try parser.array() }
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        case let byte? where byte == UInt8(ascii: "-") || (0x30...0x39).contains(byte): return .number(try number())
        case nil: throw failure("the document ends before a value")
        default: throw failure("a value cannot begin here")
        }
    }

    private mutating func nested(
        _ parse: (inout JSONParser) throws(JSONError) -> JSONValue
    ) throws(JSONError) -> JSONValue {
        guard depthLeft > 0 else { throw failure("arrays and objects nest too deep") }
        depthLeft -= 1
        position += 1
        let value = try parse(&self)
        depthLeft += 1
        return value
    }

    private mutating func word(_ text: StaticString, _ value: JSONValue) throws(JSONError) -> JSONValue {
        guard take(text) else { throw failure("a value cannot begin here") }
        return value
    }

    /// Moves past `text`, which is not empty. Returns `false` if something else is next.
    mutating func take(_ text: StaticString) -> Bool {
        let length = text.utf8CodeUnitCount
        guard position + length <= bytes.count, let start = bytes.baseAddress,
            memcmp(start + position, text.utf8Start, length) == 0
        else { return false }
        position += length
        return true
    }

    private mutating func object() throws(JSONError) -> JSONValue {
        var members = JSONMembers()
        var names = JSONNames()
        skipWhiteSpace()
        if next == UInt8(ascii: "}") {
            position += 1
            return .object(members)
        }
        while true {
            skipWhiteSpace()
            guard next == UInt8(ascii: "\"") else { throw failure("expected a member name in quotes") }
            let name = try string()
            let isASCII = isLastStringASCII
            guard isASCII || name.utf8.count <= JSONValue.longestName else {
                throw failure("a name that is not ASCII should have \(JSONValue.longestName) bytes at most")
            }
            guard names.insert(name, isASCII: isASCII, after: members) else {
                throw failure("the name \"\(name)\" appears twice in one object")
            }
            skipWhiteSpace()
            guard next == UInt8(ascii: ":") else { throw failure("expected a colon") }
            position += 1
            members.append(name, try value())
            skipWhiteSpace()
            switch next {
            case UInt8(ascii: ","): position += 1
            case UInt8(ascii: "}"):
                position += 1
                return .object(members)
            default: throw failure("expected a comma or the end of the object")
            }
        }
    }

    private mutating func array() throws(JSONError) -> JSONValue {
        var elements: [JSONValue] = []
        skipWhiteSpace()
        if next == UInt8(ascii: "]") {
            position += 1
            return .array(elements)
        }
        while true {
            elements.append(try value())
            skipWhiteSpace()
            switch next {
            case UInt8(ascii: ","): position += 1
            case UInt8(ascii: "]"):
                position += 1
                return .array(elements)
            default: throw failure("expected a comma or the end of the array")
            }
        }
    }

    private mutating func number() throws(JSONError) -> JSONNumber {
        let start = position
        if next == UInt8(ascii: "-") { position += 1 }
        if next == UInt8(ascii: "0") { position += 1 } else { try digits() }
        if next == UInt8(ascii: ".") {
            position += 1
            try digits()
        }
        if next == UInt8(ascii: "e") || next == UInt8(ascii: "E") {
            position += 1
            if next == UInt8(ascii: "+") || next == UInt8(ascii: "-") { position += 1 }
            try digits()
        }
        return JSONNumber(
            checked: String(decoding: UnsafeBufferPointer(rebasing: bytes[start..<position]), as: UTF8.self))
    }

    private mutating func digits() throws(JSONError) {
        let start = position
        while let byte = next, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { position += 1 }
        guard position > start else { throw failure("expected a digit") }
    }

    private mutating func string() throws(JSONError) -> String {
        position += 1
        let start = position
        var highBits: UInt8 = 0
        while let byte = next, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\"), byte >= 0x20 {
            highBits |= byte
            position += 1
        }
        guard next == UInt8(ascii: "\"") else { return try escapedString(from: start) }
        let found = UnsafeBufferPointer(rebasing: bytes[start..<position])
        // Without high bits the text is ASCII, which needs no validation and no repair.
        isLastStringASCII = highBits < 0x80
        let text = isLastStringASCII ? String(decoding: found, as: UTF8.self) : String(utf8: found)
        guard let text else { throw failure("the text is not UTF-8") }
        position += 1
        return text
    }

    private mutating func escapedString(from start: Int) throws(JSONError) -> String {
        var out = Array(bytes[start..<position])
        while let byte = next {
            switch byte {
            case UInt8(ascii: "\""):
                position += 1
                guard let text = String(utf8: out) else { throw failure("the text is not UTF-8") }
                isLastStringASCII = out.allSatisfy { $0 < 0x80 }
                return text
            case UInt8(ascii: "\\"):
                position += 1
                out.append(contentsOf: String(try escape()).utf8)
            case 0..<0x20: throw failure("a control character must be escaped")
            default:
                out.append(byte)
                position += 1
            }
        }
        throw failure("the text has no closing quote")
    }

    private mutating func escape() throws(JSONError) -> Unicode.Scalar {
        guard let byte = next else { throw failure("the text has no closing quote") }
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): return try unicodeEscape()
        default: throw failure("this escape does not exist")
        }
    }

    private mutating func unicodeEscape() throws(JSONError) -> Unicode.Scalar {
        let unit = try codeUnit()
        if let scalar = Unicode.Scalar(unit) { return scalar }
        guard unit < 0xDC00, next == UInt8(ascii: "\\"), position + 1 < bytes.count,
            bytes[position + 1] == UInt8(ascii: "u")
        else { throw failure("half of a surrogate pair has no other half") }
        position += 2
        let low = try codeUnit()
        guard (0xDC00...0xDFFF).contains(low),
            let scalar = Unicode.Scalar(0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00))
        else { throw failure("half of a surrogate pair has no other half") }
        return scalar
    }

    private mutating func codeUnit() throws(JSONError) -> UInt32 {
        var unit: UInt32 = 0
        for _ in 0..<4 {
            guard let byte = next, let digit = Character(Unicode.Scalar(byte)).hexDigitValue else {
                throw failure("expected four hexadecimal digits")
            }
            unit = unit << 4 | UInt32(digit)
            position += 1
        }
        return unit
    }
}

/// The names of the object that is being parsed. A few ASCII names are compared one by one, faster than by hashing.
///
/// All others are hashed once. `String` compares by canonical equivalence, for which it normalises a name that is not
/// ASCII. Some such names are equivalent to an ASCII name, such as the kelvin sign to "K".
private struct JSONNames {
    private var hashed: Set<String> = []
    private var isASCII = true

    /// Returns `false` when one of the earlier members, `members`, has the name.
    mutating func insert(_ name: String, isASCII: Bool, after members: JSONMembers) -> Bool {
        self.isASCII = self.isASCII && isASCII
        if self.isASCII, !members.isLarge { return members[name] == nil }
        if hashed.isEmpty { hashed = Set(members.keys) }
        return hashed.insert(name).inserted
    }
}
