import Foundation
import Primitives
import Testing

/// `Documentation/Reference/HTTP.md` and `SimulatorHTTP.md` have the contract of the running programs.
@Suite(.serialized) struct HTTPReferenceTests {
    /// The page of a program, with the contract that the running program states.
    private struct Case {
        var page: ReferencePage
        let contract: HTTPContract
        /// The data of the program, kept while the test runs.
        let folder: TemporaryFolder

        /// The codes that the rows of operations omit.
        var common: Set<String> { Set(page.rows("common code").map { $0.cells[0] }) }

        mutating func compareOperations(_ columns: [String]) {
            page.compare("operation", columns, with: contract.operationRows(leavingOut: common))
            page.compare("schema", ["members"], with: contract.schemaRows)
        }

        /// Compares both tables of codes: a code has one row, in either table.
        mutating func compareCodes(declaredIn paths: [String], and more: [String: Set<Int>] = [:]) throws {
            var codes = contract.codes
            for (code, statuses) in try DeclaredCodes.problems(in: paths).merging(
                more, uniquingKeysWith: { $0.union($1) })
            {
                codes[code, default: []].formUnion(statuses)
            }
            let rows = codes.sorted { ($0.value.min() ?? 0, $0.key) < ($1.value.min() ?? 0, $1.key) }.map {
                code, statuses in
                (
                    name: "`\(code)`",
                    cells: [statuses.sorted().map(String.init).joined(separator: ", "), nil] as [String?]
                )
            }
            let common = common
            page.compare("common code", ["status", "meaning"], with: rows.filter { common.contains($0.name) })
            page.compare("code", ["status", "meaning"], with: rows.filter { !common.contains($0.name) })
        }
    }

    private static func server() async throws -> (SoukService, Case) {
        let folder = try TemporaryFolder()
        let service = try await SoukService([
            "serve", "--database", "sqlite:" + folder.file("ledger.sqlite"), "--bundle-id", "com.example.souk",
        ])
        return (service, try await test("HTTP.md", service, folder))
    }

    private static func simulator() async throws -> (SoukService, Case) {
        let folder = try TemporaryFolder()
        let service = try await SoukService([
            "simulate", "--catalog", TestFiles.darkroom, "--data", folder.file("store"),
        ])
        return (service, try await test("SimulatorHTTP.md", service, folder))
    }

    private static func test(_ page: String, _ service: SoukService, _ folder: TemporaryFolder) async throws -> Case {
        Case(page: try ReferencePage(page), contract: try await HTTPContract(url: service.url), folder: folder)
    }

    @Test func `the page has every endpoint of the server and every schema, and no other`() async throws {
        var (service, test) = try await Self.server()
        test.compareOperations(["what it does", "key", "takes", "answers", "refusals of its own"])
        try test.page.conclude()
        #expect(await service.stop() == 0)
    }

    @Test func `the page has every problem code of the server, and no other`() async throws {
        var (service, test) = try await Self.server()
        try test.compareCodes(
            declaredIn: [
                "EntitlementServer", "HTTPListener", "HTTPCore/Router.swift", "souk/Commands",
            ])
        let signed = try DeclaredCodes.members(of: "SignedDataError", in: "SignedData")
            .union(DeclaredCodes.rejections(in: "EntitlementServer"))
        test.page.compare(
            "code of signed data", ["meaning"], with: signed.sorted().map { (name: "`\($0)`", cells: [nil]) })
        try test.page.conclude()
        #expect(await service.stop() == 0)
    }

    @Test func `the page has every header of the server, and no other`() async throws {
        var (service, test) = try await Self.server()
        let sources = ["EntitlementServer", "HTTPCore", "HTTPListener", "StoreModel/API"]
        let literals = try DeclaredCodes.headers(in: sources)
        let rows = test.page.rows("header")
        let names = Set(rows.map { $0.cells[0].replacingOccurrences(of: "`", with: "") })
        let own = literals.filter { $0.hasPrefix("Souk-") && !$0.hasSuffix("-") }
        for name in test.contract.headers.union(own).subtracting(names).sorted() {
            test.page.report("the header `\(name)` has no row")
        }
        for name in names.subtracting(test.contract.headers).subtracting(literals).sorted() {
            test.page.report("the header `\(name)` has a row, and occurs in no source of the server")
        }
        try test.page.conclude()
        #expect(await service.stop() == 0)
    }

    @Test func `the page has every endpoint of the simulator and every schema, and no other`() async throws {
        var (service, test) = try await Self.simulator()
        test.compareOperations(["what it does", "takes", "answers", "refusals of its own"])
        try test.page.conclude()
        #expect(await service.stop() == 0)
    }

    @Test func `the page has every problem code of the simulator, and no other`() async throws {
        var (service, test) = try await Self.simulator()
        try test.compareCodes(declaredIn: [
            "AppStoreSimulator", "HTTPCore/LocalRequestGate.swift", "HTTPCore/Router.swift",
        ])
        let failures = try DeclaredCodes.members(of: "StoreFailure", in: "StoreModel")
        test.page.compare(
            "code of the store", ["meaning"], with: failures.sorted().map { (name: "`\($0)`", cells: [nil]) })
        try test.page.conclude()
        #expect(await service.stop() == 0)
    }
}
