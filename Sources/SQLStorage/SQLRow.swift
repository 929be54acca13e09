/// One row of a result. Values are converted to the type that the context expects. A mismatch throws `unexpectedValue`.
///
///     let name: String = try row["name"]
///     let expires: Int64? = try row["expires"]     // nil for NULL; the type Int64 would throw
public struct SQLRow: Sendable, Hashable {
    private let layout: Layout
    /// The values in the order of the statement's columns.
    public let values: [SQLValue]

    /// Creates a row, for implementations of a database and for test doubles.
    ///
    /// - Parameters:
    ///   - columns: the names of the columns.
    ///   - values: one value for each column.
    public init(columns: [String], values: [SQLValue]) {
        self.init(layout: Layout(columns), values: values)
    }

    package init(layout: Layout, values: [SQLValue]) {
        precondition(layout.names.count == values.count, "A row has one value for each column.")
        self.layout = layout
        self.values = values
    }

    /// The names of the columns in the statement's order.
    public var columns: [String] { layout.names }

    /// The value of the column called `name`, spelled as in the statement.
    ///
    /// - Throws: ``SQLError`` with `unexpectedValue` when there is no such column, more than one, or its value has
    ///   another type.
    public subscript<Value: SQLConvertible>(name: String) -> Value {
        get throws {
            guard let index = layout.names.firstIndex(of: name) else {
                throw SQLError(
                    .unexpectedValue, "There is no column \(name); the row has \(columns.joined(separator: ", ")).")
            }
            if layout.repeated.contains(name) {
                throw SQLError(
                    .unexpectedValue, "The row has more than one column \(name); give each a name of its own with AS.")
            }
            return try value(at: index)
        }
    }

    /// The value of the column at `index`, counted from 0.
    ///
    /// - Throws: ``SQLError`` with `unexpectedValue` when there is no such column, or its value has another type.
    public subscript<Value: SQLConvertible>(index: Int) -> Value {
        get throws {
            guard values.indices.contains(index) else {
                throw SQLError(.unexpectedValue, "There is no column \(index); the row has \(values.count) columns.")
            }
            return try value(at: index)
        }
    }

    private func value<Value: SQLConvertible>(at index: Int) throws -> Value {
        guard let value = Value(sqlValue: values[index]) else {
            throw SQLError(
                .unexpectedValue,
                "The column \(layout.names[index]) holds \(values[index].kind) where \(Value.sqlKind) is expected.")
        }
        return value
    }

    /// The columns of a statement, shared by its rows.
    package final class Layout: Sendable, Hashable {
        package let names: [String]
        let repeated: Set<String>

        package init(_ names: [String]) {
            self.names = names
            var seen: Set<String> = []
            repeated = Set(names.filter { !seen.insert($0).inserted })
        }

        package static func == (left: Layout, right: Layout) -> Bool { left === right || left.names == right.names }
        package func hash(into hasher: inout Hasher) { hasher.combine(names) }
    }
}
