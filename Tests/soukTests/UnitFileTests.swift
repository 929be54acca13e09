import BaseTestSupport
import CurlTransport
import Foundation
import HTTPCore
import HostTestSupport
import Primitives
import Testing

/// The units of Packaging, judged by systemd's own programs.
@Suite(.outsideJudge(OutsideJudge.path(of: "systemd-analyze") != nil, "there is no systemd-analyze"))
struct UnitFileTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private var unit: String {
        get throws { try String(contentsOfFile: TestFiles.repository + "/Packaging/souk.service", encoding: .utf8) }
    }

    /// Runs `systemd-analyze security`, which fails for a unit with a score above 2.0.
    private func rate(_ text: String) async throws -> SoukExecutable.Outcome {
        let path = try folder.write("souk.service", text)
        return try await ChildProgram.run(
            "/usr/bin/env", ["systemd-analyze", "security", "--offline=true", "--threshold=20", "--no-pager", path])
    }

    @Test func `the unit scores 2_0 or less, and without its protections more`() async throws {
        let outcome = try await rate(unit)
        #expect(outcome.status == 0, "\(outcome.output)\(outcome.errors)")
        let lines = try unit.split(separator: "\n", omittingEmptySubsequences: false)
        let bare = lines.filter { !$0.hasPrefix("SystemCallFilter") && !$0.hasPrefix("CapabilityBoundingSet") }
        #expect(bare.count < lines.count)
        #expect(try await rate(bare.joined(separator: "\n")).status != 0)
    }

    @Test func `the unit's command starts at the first connection of systemd's socket, and answers it`() async throws {
        let port = try ReservedPort()
        let manager = try ServiceManagerSockets.Notifications()
        let settings: JSONValue = [
            "database": .string("sqlite:" + folder.file("ledger.sqlite")), "apps": [["bundleId": "com.example.app"]],
        ]
        let file = try folder.write("souk.json", settings.text())
        let command = try #require(unit.split(separator: "\n").first { $0.hasPrefix("ExecStart=") })
        let words = command.dropFirst("ExecStart=".count).split(separator: " ").map(String.init).map {
            $0 == "/usr/bin/souk" ? SoukExecutable.path() : $0 == "/etc/souk/souk.json" ? file : $0
        }
        let systemd = try ChildProgram(
            "/usr/bin/env",
            ["systemd-socket-activate", "--listen=127.0.0.1:\(port.number)", "--setenv=NOTIFY_SOCKET=\(manager.name)"]
                + words, output: .captured, errors: .captured)
        #expect(await systemd.errors.contains("Listening on"))
        let request = HTTPRequest(method: .get, url: "http://127.0.0.1:\(port.number)/readyz")
        #expect(try await CurlTransport.platformDefault().send(request).status == 200)
        try await manager.wait(for: "READY=1")
        // systemd-socket-activate has become the server.
        systemd.terminate()
        #expect(await systemd.end() == 0)
        try await manager.wait(for: "STOPPING=1")
    }
}
