/// The header fields of a message (RFC 9110 section 5). Names are compared without case and can repeat. Spelling and
/// order are kept.
///
///     var headers: HTTPHeaders = ["Accept": "application/json"]
///     headers.add("Set-Cookie", "a=1")
///     headers["accept"]                     // "application/json"
public struct HTTPHeaders: Sendable, Hashable, ExpressibleByDictionaryLiteral {
    /// One field line.
    public typealias Field = HTTPField

    /// The field lines, in the order of the message.
    public var fields: [Field]

    /// Creates headers.
    ///
    /// - Parameter fields: The field lines, in order.
    public init(_ fields: [Field] = []) { self.fields = fields }

    /// Creates headers from a dictionary literal, in its order.
    ///
    /// - Parameter elements: Pairs of a name and a value.
    public init(dictionaryLiteral elements: (String, String)...) {
        fields = elements.map { Field(name: $0.0, value: $0.1) }
    }

    /// The first value of a name.
    ///
    /// Setting a value replaces the first line of that name and removes the others. A new name is appended. Setting
    /// `nil` removes all lines of that name.
    ///
    /// - Parameter name: The name, in any case.
    public subscript(name: String) -> String? {
        get {
            for field in fields where field.name.equalsIgnoringCase(name) { return field.value }
            return nil
        }
        set {
            guard let index = fields.firstIndex(where: { $0.name.equalsIgnoringCase(name) }) else {
                if let newValue { fields.append(Field(name: name, value: newValue)) }
                return
            }
            var kept = Array(fields[..<index])
            if let newValue { kept.append(Field(name: name, value: newValue)) }
            kept += fields[(index + 1)...].filter { !$0.name.equalsIgnoringCase(name) }
            fields = kept
        }
    }

    /// Returns every value of a name, in order.
    ///
    /// - Parameter name: The name, in any case.
    /// - Returns: The values, empty when no line has this name.
    public func values(_ name: String) -> [String] {
        fields.compactMap { $0.name.equalsIgnoringCase(name) ? $0.value : nil }
    }

    /// Appends a line, even if the name already exists.
    ///
    /// - Parameters:
    ///   - name: The name.
    ///   - value: The value.
    public mutating func add(_ name: String, _ value: String) {
        fields.append(Field(name: name, value: value))
    }

    /// Returns whether a line has this name.
    ///
    /// - Parameter name: The name, in any case.
    /// - Returns: Whether such a line exists.
    public func contains(_ name: String) -> Bool {
        fields.contains { $0.name.equalsIgnoringCase(name) }
    }
}

extension HTTPHeaders: RandomAccessCollection {
    /// The position of the first field, 0.
    public var startIndex: Int { 0 }
    /// The number of fields.
    public var endIndex: Int { fields.count }
    /// The field at a position.
    ///
    /// - Parameter position: An index of the collection.
    public subscript(position: Int) -> Field { fields[position] }
}

extension HTTPHeaders {
    /// Checks that no field can change the message around it: each name is a token, and no value contains a line break
    /// or NUL.
    ///
    /// - Throws: `HTTPError` with the code `invalidHeader`. Its reason can contain the name of the field, but not its
    ///   value.
    public func validate() throws(HTTPError) {
        for field in fields {
            guard field.name.isHTTPToken else {
                throw HTTPError(.invalidHeader, "A header name must be a token of letters, digits and hyphens.")
            }
            guard !field.value.utf8.contains(where: { $0 == 0x0D || $0 == 0x0A || $0 == 0 }) else {
                throw HTTPError(.invalidHeader, "The value of the header \(field.name) contains a line break or NUL.")
            }
        }
    }
}

extension String {
    /// Returns whether both strings are equal, with ASCII letters compared without case.
    package func equalsIgnoringCase(_ other: String) -> Bool {
        let (left, right) = (utf8, other.utf8)
        guard left.count == right.count else { return false }
        let isEqual = left.withContiguousStorageIfAvailable { left in
            right.withContiguousStorageIfAvailable { right in
                left.indices.allSatisfy { Self.equalIgnoringCase(left[$0], right[$0]) }
            }
        }
        return isEqual.flatMap { $0 } ?? zip(left, right).allSatisfy(Self.equalIgnoringCase)
    }

    private static func equalIgnoringCase(_ one: UInt8, _ two: UInt8) -> Bool {
        one == two || ((one ^ two) == 0x20 && (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(one | 0x20))
    }

    /// Whether this string is a `token` of RFC 9110 section 5.6.2.
    package var isHTTPToken: Bool {
        !isEmpty
            && utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
                }
            }
    }
}
