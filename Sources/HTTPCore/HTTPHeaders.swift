/// Header fields of a message (RFC 9110 section 5): names compare without case, spelling and order are kept, a name may
/// repeat.
///
///     var headers: HTTPHeaders = ["Accept": "application/json"]
///     headers.add("Set-Cookie", "a=1")
///     headers["accept"]                     // "application/json"
public struct HTTPHeaders: Sendable, Hashable, ExpressibleByDictionaryLiteral {
    /// One field line.
    public typealias Field = HTTPField

    /// The field lines in the order they stand in the message.
    public var fields: [Field]

    public init(_ fields: [Field] = []) { self.fields = fields }

    public init(dictionaryLiteral elements: (String, String)...) {
        fields = elements.map { Field(name: $0.0, value: $0.1) }
    }

    /// The first value of `name`. Setting replaces the first line in place and drops the others, a new name is appended,
    /// `nil` removes all.
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

    /// Every value of `name`, in order.
    public func values(_ name: String) -> [String] {
        fields.compactMap { $0.name.equalsIgnoringCase(name) ? $0.value : nil }
    }

    /// Appends a line, also when the name is already there.
    public mutating func add(_ name: String, _ value: String) {
        fields.append(Field(name: name, value: value))
    }

    /// Whether a line of this name is there.
    public func contains(_ name: String) -> Bool {
        fields.contains { $0.name.equalsIgnoringCase(name) }
    }
}

extension HTTPHeaders: RandomAccessCollection {
    public var startIndex: Int { 0 }
    public var endIndex: Int { fields.count }
    public subscript(position: Int) -> Field { fields[position] }
}

extension HTTPHeaders {
    /// Refuses what would change the message around it: a name that is no token, a value with a line break or NUL.
    ///
    /// Throws `HTTPError.invalidHeader` naming the field, never its value.
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
    /// Equality in which ASCII letters of either case are the same.
    package func equalsIgnoringCase(_ other: String) -> Bool {
        let (left, right) = (utf8, other.utf8)
        guard left.count == right.count else { return false }
        return zip(left, right).allSatisfy { one, two in
            one == two || ((one ^ two) == 0x20 && (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(one | 0x20))
        }
    }

    /// Whether this is a `token` of RFC 9110 section 5.6.2.
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
