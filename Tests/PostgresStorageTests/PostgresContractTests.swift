import ContractSuites
import HostTestSupport
import SQLStorage
import Testing

@testable import PostgresStorage

@Suite(.enabled(if: PostgresCluster.isAvailable, "PostgreSQL is not installed"))
struct PostgresContractTests {
    @Test(arguments: SQLDatabaseContract.cases)
    func `PostgreSQL keeps the contract`(_ contract: SQLDatabaseContract) async throws {
        let database = try PostgresDatabase(url: try await PostgresCluster.shared().makeDatabase())
        try await contract.check(database)
        await database.close()
    }
}
