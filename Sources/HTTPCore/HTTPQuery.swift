import Primitives

/// The items of a query as forms write them (`a=1&b=x%20y`): decoded, in order, names may repeat, `+` is a space.
///
///     request.query?["limit"]               // "20"
///     HTTPQuery([("q", "a b")]).encoded     // "q=a%20b"
public struct HTTPQuery: Sendable, Hashable {
    /// One item. Its value is empty when it has no `=`.
    public typealias Item = HTTPField

    public var items: [Item]

    public init(_ items: [(String, String)] = []) {
        self.items = items.map { Item(name: $0.0, value: $0.1) }
    }

    /// `nil` when an escape is incomplete or its bytes are not UTF-8.
    public init?(parsing text: some StringProtocol) {
        items = []
        for part in text.utf8.split(separator: UInt8(ascii: "&")) {
            let halves = part.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = PercentEncoding.decode(halves[0], plusIsSpace: true),
                let value = halves.count == 2 ? PercentEncoding.decode(halves[1], plusIsSpace: true) : ""
            else { return nil }
            items.append(Item(name: name, value: value))
        }
    }

    /// The first value of `name`.
    public subscript(name: String) -> String? { items.first { $0.name.hasSameBytes(as: name) }?.value }

    /// Every value of `name`, in order.
    public func values(_ name: String) -> [String] { items.filter { $0.name.hasSameBytes(as: name) }.map(\.value) }

    /// As it stands after the `?` of a URL.
    public var encoded: String {
        items.map { "\(PercentEncoding.encode($0.name))=\(PercentEncoding.encode($0.value))" }.joined(separator: "&")
    }
}
