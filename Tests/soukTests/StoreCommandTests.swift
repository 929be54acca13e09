import Foundation
import Primitives
import Testing

/// `souk store` against a running simulator: an action for every control.
@Suite struct StoreCommandTests {
    /// A life in which each control is used. `TRANSACTION`, `ORDER`, `INTERRUPTED` and `DEVICE` stand for what came before.
    private static let monthly = "com.example.darkroom.plus.monthly"

    private func store(_ service: SoukService, _ words: [String]) async throws -> SoukExecutable.Outcome {
        try await SoukExecutable.run(["store", "--url", service.url] + words)
    }

    @Test func `help is there for each action, and says what it takes`() async throws {
        let all = try await SoukExecutable.run(["store", "--help"])
        #expect(all.status == 0)
        let rows = try #require(all.output.components(separatedBy: "Actions:\n").last).split(separator: "\n")
            .filter { $0.hasPrefix("  ") }
        #expect(rows.count > 40)
        for row in rows.prefix(3) + rows.suffix(3) {
            let usage = try #require(row.dropFirst(2).components(separatedBy: "  ").first)
            let words = usage.split(separator: " ").map(String.init).prefix { $0 == $0.lowercased() }
            let help = try await SoukExecutable.run(["store", "--url", "http://127.0.0.1:1"] + words + ["--help"])
            #expect(help.status == 0 && help.output.contains("Usage: souk store \(usage)"), "\(help.output)")
        }
    }

    @Test func `people get aligned columns, programs one JSON value`() async throws {
        let folder = try TemporaryFolder()
        let service = try SoukService([
            "simulate", "--catalog", TestFiles.darkroom, "--data", folder.file("store"), "--time-rate", "frozen",
        ])
        for name in ["ada", "barbara"] {
            #expect(try await store(service, ["account", "create", name]).output == "account \(name) created\n")
        }
        let accounts = try await store(service, ["account", "list"]).output.split(separator: "\n")
        #expect(
            accounts.count == 3
                && Set(
                    accounts.map {
                        $0.range(of: "may pay|yes", options: .regularExpression)?
                            .lowerBound.utf16Offset(in: $0)
                    }
                ).count == 1, "\(accounts)")
        let none = try await store(service, ["transactions", "ada"])
        #expect(none.output == "none\n")
        let bought = try await store(service, ["buy", "ada", Self.monthly, "--json"])
        for name in ["transactionID", "originalTransactionID", "productID", "state", "signedTransaction"] {
            #expect(bought.json?[name]?.stringValue?.isEmpty == false, "\(name)")
        }
        let list = try await store(service, ["--json", "transactions", "ada"])
        #expect(list.json?["transactions"]?.arrayValue?.count == 1)
        let clock = try await store(service, ["clock"])
        #expect(clock.output.contains("time stands still"))
        let later = try await store(service, ["advance", "100000s", "--json"])
        #expect(later.json?["revision"]?.intValue ?? 0 > 1)
        let refused = try await store(service, ["buy", "nobody", Self.monthly, "--json"])
        #expect(refused.status == 1 && refused.json?["error"]?["reason"]?.stringValue?.contains("nobody") == true)
        #expect(service.stop() == 0)
    }
}
