import Foundation
import HostTestSupport
import Testing

/// Runs `Scripts/cluster` as `make cluster` does.
@Suite struct ClusterScriptTests {
    private static let isInstalled = ["/usr/sbin/haproxy", "/usr/local/sbin/haproxy", "/usr/bin/haproxy"]
        .contains { FileManager.default.isExecutableFile(atPath: $0) }

    @Test(.enabled(if: isInstalled && PostgresCluster.isAvailable, "HAProxy or PostgreSQL is not installed"))
    func `three servers behind a load balancer share their purchases, and work without one of them`()
        async throws
    {
        let folder = URL(fileURLWithPath: SoukExecutable.path()).deletingLastPathComponent().path
        let outcome = try await ChildProgram.run(
            "/usr/bin/env", ["python3", TestFiles.repository + "/Scripts/cluster", "--programs", folder])
        #expect(outcome.status == 0, "\(outcome)")
        #expect(outcome.output.components(separatedBy: "says that anna has filmLooks").count == 6, "\(outcome.output)")
        #expect(outcome.output.components(separatedBy: "says that ben has filmLooks").count == 3)
        #expect(outcome.output.hasSuffix("Everything was ended.\n"))
    }
}
