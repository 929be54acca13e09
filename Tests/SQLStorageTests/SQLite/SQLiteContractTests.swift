import ContractSuites
import SQLStorage
import Testing

@Suite struct SQLiteContractTests {
    @Test(arguments: SQLDatabaseContract.cases)
    func `SQLite keeps the contract`(_ contract: SQLDatabaseContract) async throws {
        let database = try SQLiteDatabase.temporary()
        try await contract.check(database)
        await database.close()
    }
}
