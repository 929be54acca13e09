import BaseTestSupport
import Foundation
import HTTPCore
import HostTestSupport
import InAppStore
import NetworkInterception
import NetworkTestSupport
import Primitives
import Purchases
import StoreModel
import StoreTestSupport
import Testing

@testable import souk

/// Opens the data that each release wrote (`Scripts/make-fixtures`), migrates it and checks that it is complete.
@Suite struct ReleaseFixtureTests {
    static let versions: [String] = {
        let file = URL(fileURLWithPath: TestFiles.repository + "/Releases.json")
        let json = (try? Data(contentsOf: file)).flatMap { try? JSONValue(parsing: Array($0)) }
        return json?["releases"]?.arrayValue?.compactMap { $0["version"]?.stringValue } ?? []
    }()

    private static let fixtures = TestFiles.repository + "/Tests/Releases"

    /// A copy of a release's data, with a list of its content.
    private struct Fixture {
        let folder: TemporaryFolder
        let expected: JSONValue

        init(_ version: String) throws {
            folder = try TemporaryFolder()
            let source = "\(ReleaseFixtureTests.fixtures)/\(version)"
            for name in try FileManager.default.contentsOfDirectory(atPath: source) {
                try FileManager.default.copyItem(atPath: "\(source)/\(name)", toPath: folder.file(name))
            }
            expected = try JSONValue(parsing: Array(folder.text("expected.json").utf8))
        }

        func texts(_ name: String) -> [String] { expected[name]?.arrayValue?.compactMap(\.stringValue) ?? [] }
    }

    /// The releases with PostgreSQL.
    private static let versionsWithPostgreSQL = versions.filter {
        FileManager.default.fileExists(atPath: "\(fixtures)/\($0)/ledger.sql")
    }

    private func get(_ url: String, key: String? = nil) async throws -> JSONValue {
        var headers: HTTPHeaders = [:]
        if let key { headers = ["Authorization": "Bearer \(key)", "Souk-Environment": "sandbox"] }
        let response = try await loopbackTransport().send(HTTPRequest(method: .get, url: url, headers: headers))
        #expect(response.status == 200)
        return try await response.body.json()
    }

    @Test func `every release has its files, and this version is a release`() throws {
        let folders = try FileManager.default.contentsOfDirectory(atPath: Self.fixtures)
        #expect(Set(folders) == Set(Self.versions))
        #expect(Self.versions.contains(VersionCommand.version))
    }

    @Test(arguments: versions)
    func `the ledger of a release is migrated, replays without a difference, and has the purchases`(
        version: String
    ) async throws {
        let fixture = try Fixture(version)
        try await check(fixture, "sqlite:" + fixture.folder.file("ledger.sqlite"))
    }

    @Test(
        .enabled(if: PostgresCluster.isAvailable, "PostgreSQL is not installed"), arguments: versionsWithPostgreSQL)
    func `the PostgreSQL ledger of a release is migrated, replays without a difference, and has the purchases`(
        version: String
    ) async throws {
        let fixture = try Fixture(version)
        let cluster = try await PostgresCluster.shared()
        let database = try await cluster.makeDatabase()
        let name = String(database.split(separator: "/")[2].prefix { $0 != "?" })
        _ = try await cluster.run(fixture.folder.text("ledger.sql"), in: name)
        try await check(fixture, database)
    }

    /// Migrates a ledger, and requests a customer's features from a server with it.
    private func check(_ fixture: Fixture, _ database: String) async throws {
        func souk(_ words: String...) async throws -> JSONValue {
            let outcome = try await SoukExecutable.run(words + ["--database", database, "--json"])
            #expect(outcome.status == 0, "\(words): \(outcome.errors)")
            return try JSONValue(parsing: outcome.output)
        }
        _ = try await souk("migrate", "apply")
        _ = try await souk("migrate", "verify")
        let replay = try await souk("ledger", "replay", "--features", fixture.folder.file("darkroom.features.json"))
        #expect(replay["facts"] == fixture.expected["facts"], "\(replay.text())")
        let key = try await souk("keys", "create", "--bundle-id", "com.example.souk", "--kind", "public")["key"]
        let server = try await SoukService([
            "serve", "--database", database, "--bundle-id", "com.example.souk", "--environment", "sandbox",
            "--features", fixture.folder.file("darkroom.features.json"),
        ])
        let customer = try #require(fixture.expected["customer"]?.stringValue)
        let answer = try await get(server.url + "/v1/customers/\(customer)", key: key?.stringValue)
        let purchases = answer["purchases"]?.arrayValue?.compactMap { $0["transactionID"]?.stringValue } ?? []
        #expect(purchases.sorted() == fixture.texts("purchases"))
        #expect(await server.stop() == 0)
    }

    @Test(arguments: versions) func `a simulator continues with the data of a release`(version: String) async throws {
        let fixture = try Fixture(version)
        let root = try Data(contentsOf: URL(fileURLWithPath: fixture.folder.file("simulator/root.der")))
        let store = try await SoukService([
            "simulate", "--catalog", fixture.folder.file("darkroom.storekit"), "--data",
            fixture.folder.file("simulator"),
        ])
        let account = try #require(fixture.expected["account"]?.stringValue)
        let transactions = try await get(store.url + "/control/v1/accounts/\(account)/transactions")["transactions"]
        let ids = transactions?.arrayValue?.compactMap { $0["transactionID"]?.stringValue } ?? []
        // Later renewals may be there too.
        #expect(Set(ids).isSuperset(of: fixture.texts("transactions")) && ids.count >= 5)
        let certificate = try #require(store.greeting["rootCertificate"]?.stringValue)
        #expect(try Data(contentsOf: URL(fileURLWithPath: certificate)) == root)
        #expect(await store.stop() == 0)
    }

    @Test(arguments: versions) func `the records of a release are read, and new ones are added`(version: String)
        async throws
    {
        let fixture = try Fixture(version)
        let storage = try SQLiteRecordStorage(path: fixture.folder.file("records.sqlite"))
        #expect(await storage.records(10, after: nil).map(\.originalRequest.path) == fixture.texts("records"))
        await storage.store(Record(HTTPRequest(method: .get, url: "http://a.example/new")))
        #expect(await storage.records(10, after: nil).count == fixture.texts("records").count + 1)
        await storage.close()
    }

    @Test(arguments: versions) func `an app without a network has its customer's features`(version: String) async throws
    {
        let fixture = try Fixture(version)
        let port = try ReservedPort()
        var server = EntitlementServiceClient.Configuration(
            baseURL: "http://127.0.0.1:\(port.number)", key: "souk_public_unused", environment: .sandbox)
        server.backoff = .none
        var configuration = StoreConfiguration(productListPath: "")
        configuration.productList = ProductList([
            ListedProduct(id: "com.example.darkroom.filmpack", productType: .nonConsumable)
        ])
        configuration.connection = ScriptedStoreConnection()
        configuration.validator = EntitlementServiceClient(configuration: server, transport: loopbackTransport())
        configuration.storage = try FileSecureStorage(directory: fixture.folder.file("storage"))
        configuration.storageName = fixture.folder.file("storage")
        configuration.contentFolder = fixture.folder.file("content")
        configuration.customer = CustomerID(rawValue: try #require(fixture.expected["customer"]?.stringValue))
        let asOf = try #require(fixture.expected["asOf"]?.stringValue.flatMap { RFC3339.date(from: $0) })
        configuration.clock = ManualClock(asOf)
        let store = try Store(configuration: configuration)
        let active = store.snapshot.features.filter(\.isActive).map(\.name)
        #expect(active.sorted() == fixture.texts("activeFeatures"))
        #expect(store.snapshot.purchasedProducts == ["com.example.darkroom.filmpack"])
        await store.close()
    }
}
