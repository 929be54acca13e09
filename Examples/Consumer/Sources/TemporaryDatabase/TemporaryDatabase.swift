import Foundation
import SQLStorage

/// A temporary database, which is removed when it is closed.
@main
enum TemporaryDatabase {
    static func main() async throws {
        let database = try SQLiteDatabase.temporary()
        try database.migrate([
            SQLMigration("0001 pictures", [.sqlite: "CREATE TABLE picture (name TEXT PRIMARY KEY) STRICT"])
        ])
        try await database.write { _ = try $0.execute("INSERT INTO picture VALUES (?1)", [.text("meadow")]) }
        let count: Int? = try database.read { try $0.first("SELECT count(*) AS n FROM picture")?["n"] }
        await database.close()
        print("pictures kept: \(count ?? 0)")
        exit(count == 1 ? 0 : 1)
    }
}
