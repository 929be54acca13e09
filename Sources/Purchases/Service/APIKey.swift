/// An API key of the server, public or secret. Its description, even inside another value, does not contain the key.
public struct APIKey: Hashable, Sendable, ExpressibleByStringLiteral {
    package let secret: String

    /// Creates a key from the string `secret`.
    public init(_ secret: String) { self.secret = secret }
    /// Creates a key from the literal `value`.
    public init(stringLiteral value: String) { self.init(value) }
}

extension APIKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// A placeholder.
    public var description: String { "[redacted]" }
    /// A placeholder.
    public var debugDescription: String { description }
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
