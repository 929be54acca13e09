/// A connection that knows the key of the row that it inserted last.
protocol RowKeyConnection: SQLConnection {
    /// The integer primary key of the last inserted row; 0 before the first.
    var lastRowKey: Int64 { get }
}

extension SQLConnection {
    /// Inserts at most one row and returns its key.
    ///
    /// A statement with `RETURNING` would do the same on every database. But SQLite creates a temporary table for its
    /// result, which takes longer than the insertion itself.
    ///
    /// - Parameters:
    ///   - sql: One `INSERT` of at most one row, without `RETURNING` and without `DO UPDATE`, with placeholders `?1` to
    ///     `?n`. The table has no triggers that insert rows.
    ///   - values: The values of the placeholders.
    ///   - key: The name of the integer primary key of the table.
    /// - Returns: The key of the row; `nil` when no row was inserted.
    /// - Throws: ``SQLError``.
    package func insert(_ sql: String, _ values: [SQLValue], key: String) throws -> Int64? {
        guard let connection = self as? any RowKeyConnection else {
            return try first("\(sql) RETURNING \(key)", values).map { try $0[key] }
        }
        return try connection.execute(sql, values) > 0 ? connection.lastRowKey : nil
    }
}
