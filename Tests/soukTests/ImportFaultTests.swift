import BaseTestSupport
import Foundation
import HTTPCore
import HostTestSupport
import NetworkTestSupport
import Primitives
import Testing

/// Kills of `souk import`, and servers that fail while it runs.
@Suite struct ImportFaultTests {
    private static func line(_ customer: String, _ signed: String) -> String {
        let line: JSONValue = ["customer": .string(customer), "signedTransaction": .string(signed)]
        return line.text()
    }

    @Test func `a killed import continues where it stopped, and nothing is missing or doubled`()
        async throws
    {
        let shop = try SignedShop()
        // This limit delays the import for minutes, so that it can be killed.
        let slow = try await shop.serve("--rate-limit", "1:60")
        let ids = (1...240).map(String.init)
        var lines = try ids.map { Self.line("customer-\(Int($0)! % 20)", try shop.purchase($0)) }
        // The later of two customers gets a purchase, even if the lines before are sent again.
        lines.append(Self.line("first", try shop.purchase("1000")))
        lines.append(Self.line("second", try shop.purchase("1000")))
        let file = try shop.folder.write("purchases.jsonl", lines.joined(separator: "\n"))
        func words(_ server: SoukService) -> [String] {
            ["import", file, "--url", server.url, "--key-file", shop.secretKeyFile, "--json"]
        }

        let child = try ChildProgram(SoukExecutable.path(), words(slow))
        try await until("the import has written its state file") {
            FileManager.default.fileExists(atPath: file + ".import-state") || !child.isRunning
        }
        child.signal(SIGKILL)
        #expect(await child.end() == 128 + SIGKILL, "The import ended before it could be killed.")

        #expect(await slow.stop() == 0)
        let server = try await shop.serve()
        let outcome = try await SoukExecutable.run(words(server))
        #expect(outcome.status == 0 && outcome.errors.contains("continuing after line "), "\(outcome.errors)")
        #expect(outcome.json?["lines"] == .number(lines.count) && outcome.json?["rejected"] == 0)
        #expect(outcome.json?["accepted"] == .number(lines.count))
        for customer in 0..<20 {
            let expected = Set(ids.filter { Int($0)! % 20 == customer })
            #expect(try await shop.purchases(of: "customer-\(customer)", at: server) == expected)
        }
        #expect(try await shop.purchases(of: "first", at: server) == [])
        #expect(try await shop.purchases(of: "second", at: server) == ["1000"])
        let replayed = try await shop.replay()
        #expect(replayed.status == 0 && replayed.json?["facts"] == .number(ids.count + 1), "\(replayed.output)")
        #expect(!FileManager.default.fileExists(atPath: file + ".import-state"))
    }

    @Test func `a request is repeated after a failure, a broken connection and an invalid answer`() async throws {
        let folder = try TemporaryFolder()
        let answer = #"{"acknowledgedTransactionIDs":["1"],"rejected":[]}"#
        func reply(_ status: String, _ body: String = "") -> String {
            "HTTP/1.1 \(status)\r\nConnection: close\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
        }
        let server = try ScriptedServer(
            [
                reply("503 Service Unavailable"), reply("200 OK", "<html>Log in first</html>"),
                String(reply("200 OK", answer).dropLast(20)), reply("200 OK", answer),
            ].map { text in
                { peer in
                    _ = peer.receive(until: #"{"signedTransaction":"x"}"#)
                    peer.send(text)
                }
            })
        let outcome = try await SoukExecutable.run([
            "import", try folder.write("p.jsonl", Self.line("anna", "x")), "--url", server.url, "--key-file",
            try folder.write("key", "souk_secret_any"), "--json",
        ])
        #expect(outcome.status == 0 && outcome.json?["accepted"] == 1, "\(outcome.errors)")
    }
}
