import Foundation
import Primitives
import SQLStorage

/// The consumption information that the app's server sent.
extension SimulatorDatabase {
    func save(_ report: ConsumptionReport, of transaction: Int64, at now: Date) throws {
        try sql.execute(
            "INSERT OR REPLACE INTO consumption (purchase, at, version, body) VALUES (?1, ?2, ?3, ?4)",
            [
                .integer(transaction), .integer(now.microseconds), .integer(Int64(report.version)),
                .text(JSONValue.object(report.members).text()),
            ])
    }

    func consumption(of transaction: Int64) throws -> (report: ConsumptionReport, at: Date)? {
        guard let row = try sql.first("SELECT * FROM consumption WHERE purchase = ?1", [.integer(transaction)]),
            case .object(let members) = try JSONValue(parsing: row["body"] as String)
        else { return nil }
        return (ConsumptionReport(version: try row["version"], members: members), try row.date("at"))
    }
}
