/// The elements of a JSON array, read one after another, so that no tree of the whole document is built.
///
/// The document is checked as by ``JSONValue/init(parsing:depth:)``: an error has the same reason and position. A caller
/// that knows the shape of most elements reads them with ``nextPlainObject(_:)``, and all others with ``next()``.
///
///     let products = try JSONElements.reading(bytes) { elements throws(JSONError) in
///         while let element = try elements.next() { … }
///     }
package struct JSONElements {
    /// A value of a plain object.
    package enum PlainValue {
        /// The bytes of a string: ASCII without escapes.
        case string(UnsafeBufferPointer<UInt8>)
        case bool(Bool)
    }

    private var parser: JSONParser
    private var isFirst = true
    private var isAtEnd = false

    private init(_ parser: JSONParser) { self.parser = parser }

    /// Returns the result of `body`, which gets the elements and reads all of them. Returns `nil`, without a call of
    /// `body`, for a document that is not an array.
    ///
    /// - Throws: `JSONError` for a document that is neither JSON nor an array, and the errors of `body`.
    package static func reading<Result>(
        _ bytes: [UInt8], depth: Int = JSONValue.defaultDepth,
        _ body: (inout JSONElements) throws(JSONError) -> Result
    ) throws(JSONError) -> Result? {
        try bytes.withUnsafeBufferPointer { bytes throws(JSONError) -> Result? in
            var parser = JSONParser(bytes: bytes, depthLeft: depth)
            parser.skipWhiteSpace()
            guard parser.next == UInt8(ascii: "["), depth > 0 else {
                _ = try parser.document()
                return nil
            }
            parser.position += 1
            parser.depthLeft -= 1
            var elements = JSONElements(parser)
            return try body(&elements)
        }
    }

    /// Returns the next element; `nil` after the last one, if nothing but white space follows the array.
    package mutating func next() throws(JSONError) -> JSONValue? {
        guard try advance() else { return nil }
        return try parser.value()
    }

    /// Reads the next element if it is a plain object: an object whose names and strings are ASCII without escapes and
    /// control characters, and whose other values are true or false.
    ///
    /// Returns `false` for any other element, and when `member` returns `false`. Then the position is unchanged, and the
    /// element can be read with ``next()``, which also finds its errors.
    ///
    /// - Parameter member: Gets the name and the value of each member, in order. It refuses a name that it does not know
    ///   or has seen before, because names are not compared here. The bytes are valid during the call.
    package mutating func nextPlainObject(
        _ member: (UnsafeBufferPointer<UInt8>, PlainValue) -> Bool
    ) -> Bool {
        let before = self
        guard (try? advance()) == true, readPlainObject(member) else {
            self = before
            return false
        }
        return true
    }

    /// Moves to the next element. Returns `false` at the end of the document.
    private mutating func advance() throws(JSONError) -> Bool {
        guard !isAtEnd else { return false }
        parser.skipWhiteSpace()
        let found = parser.next
        if found == UInt8(ascii: "]") {
            parser.position += 1
            parser.skipWhiteSpace()
            guard parser.next == nil else { throw parser.failure("unexpected text after the end of the document") }
            isAtEnd = true
            return false
        }
        if !isFirst {
            guard found == UInt8(ascii: ",") else { throw parser.failure("expected a comma or the end of the array") }
            parser.position += 1
        }
        isFirst = false
        parser.skipWhiteSpace()
        return true
    }

    private mutating func readPlainObject(_ member: (UnsafeBufferPointer<UInt8>, PlainValue) -> Bool) -> Bool {
        // An object needs a level of nesting.
        guard parser.depthLeft > 0, take(UInt8(ascii: "{")) else { return false }
        repeat {
            parser.skipWhiteSpace()
            guard let name = plainString() else { return false }
            parser.skipWhiteSpace()
            guard take(UInt8(ascii: ":")) else { return false }
            parser.skipWhiteSpace()
            guard let value = plainValue(), member(name, value) else { return false }
            parser.skipWhiteSpace()
        } while take(UInt8(ascii: ","))
        return take(UInt8(ascii: "}"))
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard parser.next == byte else { return false }
        parser.position += 1
        return true
    }

    private mutating func plainValue() -> PlainValue? {
        switch parser.next {
        case UInt8(ascii: "\""): plainString().map { .string($0) }
        case UInt8(ascii: "t"): parser.take("true") ? .bool(true) : nil
        case UInt8(ascii: "f"): parser.take("false") ? .bool(false) : nil
        default: nil
        }
    }

    private mutating func plainString() -> UnsafeBufferPointer<UInt8>? {
        guard take(UInt8(ascii: "\"")) else { return nil }
        let start = parser.position
        while let byte = parser.next, byte != UInt8(ascii: "\"") {
            guard (0x20..<0x7F).contains(byte), byte != UInt8(ascii: "\\") else { return nil }
            parser.position += 1
        }
        let text = UnsafeBufferPointer(rebasing: parser.bytes[start..<parser.position])
        return take(UInt8(ascii: "\"")) ? text : nil
    }
}
