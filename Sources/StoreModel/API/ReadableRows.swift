/// A row of an answer that was left out, and why.
public struct UnreadableRow: Hashable, Sendable {
    /// Its place in the answer, from 0.
    public var index: Int
    public var reason: String

    public init(index: Int, reason: String) {
        self.index = index
        self.reason = reason
    }
}

/// An array of which every row that can be read is read, and the others are named: one row of a newer backend does not
/// take the whole answer with it.
struct ReadableRows<Row: Decodable>: Decodable {
    private(set) var readable: [Row] = []
    private(set) var unreadable: [UnreadableRow] = []

    init(from decoder: any Decoder) throws {
        var rows = try decoder.unkeyedContainer()
        while !rows.isAtEnd {
            let index = rows.currentIndex
            switch try rows.decode(Attempt.self).result {
            case .success(let row): readable.append(row)
            case .failure(let error): unreadable.append(UnreadableRow(index: index, reason: "\(error)"))
            }
        }
    }

    /// Decoding never fails, so that the container goes on to the next row.
    private struct Attempt: Decodable {
        let result: Result<Row, any Error>

        init(from decoder: any Decoder) throws { result = Result { try Row(from: decoder) } }
    }
}
