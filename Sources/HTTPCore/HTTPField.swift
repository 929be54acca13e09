/// A name and a value: one line of ``HTTPHeaders``, or one item of an ``HTTPQuery``.
public struct HTTPField: Sendable, Hashable {
    public var name: String
    public var value: String

    /// Creates a field.
    public init(name: String, value: String) {
        self.name = name
        self.value = value
    }
}
