import Foundation
import HostTestSupport
import NetworkTestSupport
import Primitives
import Testing

/// `souk serve --check`.
@Suite struct ServeCheckTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private var database: String { "sqlite:" + folder.file("ledger.sqlite") }

    private func check(_ options: String...) async throws -> SoukExecutable.Outcome {
        try await SoukExecutable.run(["serve", "--check", "--bundle-id", "com.example.darkroom"] + options)
    }

    @Test func `valid settings are confirmed, and nothing is created`() async throws {
        try await LoopbackCertificate.withFiles { files in
            let outcome = try await check(
                "--database", database, "--tls-certificate", files.certificate, "--tls-key", files.key, "--console")
            #expect(outcome.status == 0 && outcome.errors.isEmpty, "\(outcome.errors)")
            #expect(outcome.output.hasPrefix("The server can start with \(database); the start will apply "))
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
    }

    @Test func `a ledger is checked while its server runs`() async throws {
        let server = try await SoukService(["serve", "--database", database, "--bundle-id", "com.example.darkroom"])
        let outcome = try await check("--database", database, "--port", String(server.url.split(separator: ":").last!))
        #expect(outcome.status == 0 && outcome.output == "The server can start with \(database).\n", "\(outcome)")
        #expect(await server.stop() == 0)
    }

    @Test func `each setting, file and database that would prevent a start is named`() async throws {
        let rules = try folder.write("features.json", "{\"features\":7}")
        let text = try folder.write("text.sqlite", "no ledger, but a text that is longer than the header of a database")
        try await LoopbackCertificate.withFiles { files in
            for (options, sentence) in [
                (["--port", "70000"], "--port is a whole number"),
                (["--tls-certificate", files.certificate, "--tls-key", files.otherKey], "matching PEM files"),
                (["--features", rules], rules), (["--signing-key", rules], rules),
                (["--signing-key", folder.file("none")], "there is no such file"),
                (["--database", "sqlite:/missing/ledger.sqlite"], "cannot write to /missing"),
                (["--database", "sqlite:" + text], text),
                (["--database", "postgres://souk@127.0.0.1:1/ledger"], "127.0.0.1"),
            ] {
                let outcome = try await SoukExecutable.run(
                    ["serve", "--check", "--bundle-id", "com.example.darkroom"]
                        + (options[0] == "--database" ? [] : ["--database", database]) + options)
                #expect(outcome.status == 2 && outcome.output.isEmpty, "\(options): \(outcome)")
                #expect(outcome.errors.contains(sentence), "\(options): \(outcome.errors)")
                #expect(outcome.errors.split(separator: "\n").count == 1)
            }
        }
        let noApp = try await SoukExecutable.run(["serve", "--check", "--database", database])
        #expect(noApp.status == 2 && noApp.errors.contains("needs --bundle-id"))
        #expect(!FileManager.default.fileExists(atPath: folder.file("ledger.sqlite")))
    }
}
