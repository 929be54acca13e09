/// A key of the server's, public or secret. Printing it, also inside another value, shows only that it is there.
public struct APIKey: Hashable, Sendable, ExpressibleByStringLiteral {
    package let secret: String

    public init(_ secret: String) { self.secret = secret }
    public init(stringLiteral value: String) { self.init(value) }
}

extension APIKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "[redacted]" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: []) }
}
