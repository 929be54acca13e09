/// A row of an answer that could not be read.
public struct UnreadableRow: Hashable, Sendable {
    /// The index of the row in the answer, from 0.
    public var index: Int
    /// The error of the decoder.
    public var reason: String

    /// Creates a row.
    ///
    /// - Parameters:
    ///   - index: The index of the row in the answer, from 0.
    ///   - reason: The error of the decoder.
    public init(index: Int, reason: String) {
        self.index = index
        self.reason = reason
    }
}

/// An array that keeps the rows that can be read and lists the others, so that one row of a newer backend does not make
/// the whole answer unreadable.
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

    /// A row whose decoding never throws, so that the container advances to the next row.
    private struct Attempt: Decodable {
        let result: Result<Row, any Error>

        init(from decoder: any Decoder) throws { result = Result { try Row(from: decoder) } }
    }
}
