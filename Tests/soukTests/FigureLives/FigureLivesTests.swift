import BaseTestSupport
import EntitlementServer
import Foundation
import HTTPCore
import HostTestSupport
import Primitives
import SQLStorage
import SignedData
import StoreModel
import Testing

@testable import AppStoreSimulator

/// The figures after random lives of two years, compared with the simulator's own books and with DuckDB.
///
/// `SOUK_FIGURE_CUSTOMERS` is the number of customers, `SOUK_FIGURE_DAYS` the number of days and `SOUK_FIGURE_SEED` the
/// seed (`make figures`). `SOUK_FIGURE_KEEP` is a folder to which the books and the answers are copied.
@Suite(.outsideJudge(OutsideJudge.python != nil, "SOUK_PYTHON names no interpreter with duckdb"))
struct FigureLivesTests {
    private static func number(_ name: String) -> Int? { ProcessInfo.processInfo.environment[name].flatMap { Int($0) } }

    @Test func `every figure equals the books of the store, for each day or month and in every currency`() async throws
    {
        let count = Self.number("SOUK_FIGURE_CUSTOMERS") ?? 20
        let days = Self.number("SOUK_FIGURE_DAYS") ?? 731
        let folder = try TemporaryFolder()
        let server = Locked<EntitlementService?>(nil)
        var configuration = SimulatedAppStore.Configuration(
            catalogue: try FigureCatalogue.make(), dataDirectory: folder.file("store"))
        configuration.timeRate = .frozen
        configuration.start = FigureLife.start
        configuration.seed = 1
        configuration.database = try SQLiteDatabase.temporary()
        configuration.notificationsURL = "http://server/v1/notifications/app-store"
        configuration.notificationTransport = InProcessTransport(
            AnyHTTPHandler { request in
                server.withLock(\.self)?.respond(to: request) ?? .ready(HTTPResponse(status: 503))
            })
        let store = try await SimulatedAppStore.open(configuration)
        let database = try SQLiteDatabase.temporary(in: folder.file(""))
        let service = try await Self.service(database, store)
        server.withLock { $0 = service }
        try await store.set(.notifySkippedTime, to: "all")

        var life = try await FigureLife(
            count, seed: UInt64(Self.number("SOUK_FIGURE_SEED") ?? 1), at: store)
        let clock = ContinuousClock()
        let begin = clock.now
        try await life.live(days) { day in
            guard count > 100, day % 10 == 0 || day == days else { return }
            note("\rday \(day) of \(days) in \((clock.now - begin).components.seconds) s ")
        }
        if count > 100 { note("\n\(life.accepted.sorted { $0.key < $1.key })\n") }
        if Self.number("SOUK_FIGURE_DAYS") == nil {
            #expect(life.accepted.count >= FigureLife.actions, "\(life.accepted.sorted { $0.key < $1.key })")
        }
        try await service.addAllFactsToFigures()

        // The answers of the server, against the simulator's books.
        let truth = try life.truth.json(of: store, accounts: life.accounts, at: store.clock.now())
        _ = try folder.write("truth.json", truth.encoded())
        _ = try folder.write("answers.json", try await answers(service, days).encoded())
        if let kept = ProcessInfo.processInfo.environment["SOUK_FIGURE_KEEP"] {
            for file in ["truth.json", "answers.json"] {
                try? FileManager.default.removeItem(atPath: "\(kept)/\(file)")
                try FileManager.default.copyItem(atPath: folder.file(file), toPath: "\(kept)/\(file)")
            }
        }
        let judged = try await OutsideJudge.judge(
            "figure_truth.py",
            [
                "truth": .string(folder.file("truth.json")), "answers": .string(folder.file("answers.json")),
                "from": .number(Int(FigureLife.start.timeIntervalSince1970) / 86_400), "days": .number(days),
            ])
        #expect(judged.status == 0, "\(judged.output)\(judged.errors)")
        #expect(judged.json?["figures"] == 22)
        if count > 100 { note("\(judged.output)") }

        // The export, against DuckDB.
        let verified = try await SoukExecutable.run(
            ["figures", "verify", "--database", "sqlite:" + database.path, "--json"])
        #expect(verified.status == 0, "\(verified.output)\(verified.errors)")
        for what in ["facts", "figures"] {
            let exported = try await SoukExecutable.run(
                ["export", "--what", what, "--format", "csv", "--database", "sqlite:" + database.path])
            #expect(exported.status == 0, "\(exported.errors)")
            _ = try folder.write("\(what).csv", Array(exported.output.utf8))
        }
        let recomputed = try await OutsideJudge.judge(
            "figures.py", ["facts": .string(folder.file("facts.csv")), "figures": .string(folder.file("figures.csv"))])
        #expect(recomputed.status == 0, "\(recomputed.output)\(recomputed.errors)")
        #expect(recomputed.json?["measures"]?.intValue ?? 0 >= 19)
        if count > 100 { note("\(recomputed.output)in \((clock.now - begin).components.seconds) s\n") }
        await store.close()
        await database.close()
    }

    private static func service(
        _ database: SQLiteDatabase, _ store: SimulatedAppStore
    ) async throws -> EntitlementService {
        var configuration = EntitlementService.Configuration(
            database: database, apps: [.init(bundleID: store.summary.bundleID)], environments: [.sandbox])
        configuration.trustAnchors = try TrustAnchor.certificates(
            in: Array(try Data(contentsOf: URL(fileURLWithPath: store.summary.rootCertificate))))
        configuration.clock = store.clock
        return try await EntitlementService(configuration: configuration)
    }

    /// Returns the answers of `GET /v1/figures` by name, or by name and group.
    private func answers(_ service: EntitlementService, _ days: Int) async throws -> JSONValue {
        let key = try #require(try await service.createMissingKeys().first?.secretKey)
        func get(_ path: String) async throws -> JSONValue {
            let response = await service.respond(
                to: HTTPRequest(
                    method: .get, url: "/v1/figures\(path)", headers: ["Authorization": "Bearer \(key)"])
            ).response()
            #expect(response.status == 200, "\(path)")
            return try JSONValue(parsing: try await response.body.collect(upTo: 1 << 26))
        }
        var answers: JSONValue = [:]
        let from = RFC3339.string(from: FigureLife.start).prefix(10)
        for figure in try await get("")["figures"]?.arrayValue ?? [] {
            let name = try #require(figure["name"]?.stringValue)
            let isCohort = ["retention", "lifetime-value"].contains(name)
            let question = "\(name)?from=\(from)&by=\(isCohort ? "month" : "day")"
            answers[name] = try await get("/\(question)")
            guard ["payments", "revenue", "refunds", "active-subscriptions", "mrr", "trials-started"].contains(name)
            else { continue }
            for group in ["product", "country", "offer"] {
                answers["\(name) by \(group)"] = try await get("/\(name)?from=\(from)&by=month&group=\(group)")
            }
        }
        return answers
    }

    private func note(_ text: String) { FileHandle.standardError.write(Data(text.utf8)) }
}
