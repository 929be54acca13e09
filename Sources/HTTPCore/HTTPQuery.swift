import Primitives

/// The items of a query as forms write them (`a=1&b=x%20y`). Items are decoded and keep their order, names can repeat,
/// and `+` is a space.
///
///     request.query?["limit"]               // "20"
///     HTTPQuery([("q", "a b")]).encoded     // "q=a%20b"
public struct HTTPQuery: Sendable, Hashable {
    /// One item. Its value is empty when the item has no `=`.
    public typealias Item = HTTPField

    /// The items, in order.
    public var items: [Item]

    /// Creates a query.
    ///
    /// - Parameter items: Pairs of a name and a value, not encoded.
    public init(_ items: [(String, String)] = []) {
        self.items = items.map { Item(name: $0.0, value: $0.1) }
    }

    /// Parses an encoded query. Returns `nil` when an escape is incomplete or its bytes are not UTF-8.
    ///
    /// - Parameter text: The query without its `?`.
    public init?(parsing text: some StringProtocol) {
        let parsed =
            text.utf8.withContiguousStorageIfAvailable(Self.init(parsing:))
            ?? Array(text.utf8).withUnsafeBufferPointer(Self.init(parsing:))
        guard let parsed else { return nil }
        self = parsed
    }

    init?(parsing query: UnsafeBufferPointer<UInt8>) {
        items = []
        var start = 0
        while start < query.count {
            let end = query[start...].firstIndex(of: UInt8(ascii: "&")) ?? query.count
            defer { start = end + 1 }
            guard start < end else { continue }
            let equals = query[start..<end].firstIndex(of: UInt8(ascii: "=")) ?? end
            guard let name = PercentEncoding.decodeItem(query[start..<equals]),
                let value = PercentEncoding.decodeItem(query[min(equals + 1, end)..<end])
            else { return nil }
            items.append(Item(name: name, value: value))
        }
    }

    /// The first value of a name, compared by bytes.
    ///
    /// - Parameter name: The decoded name.
    public subscript(name: String) -> String? { items.first { $0.name.hasSameBytes(as: name) }?.value }

    /// Returns every value of a name, in order.
    ///
    /// - Parameter name: The decoded name.
    /// - Returns: The values, empty when no item has this name.
    public func values(_ name: String) -> [String] { items.filter { $0.name.hasSameBytes(as: name) }.map(\.value) }

    /// The query in the form that follows the `?` of a URL.
    public var encoded: String {
        items.map { "\(PercentEncoding.encode($0.name))=\(PercentEncoding.encode($0.value))" }.joined(separator: "&")
    }
}
