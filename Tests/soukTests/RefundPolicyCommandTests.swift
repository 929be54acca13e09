import Primitives
import Testing

/// Refund policies at the command line.
@Suite struct RefundPolicyCommandTests {
    private static let policy = #"{"refundRules": [{"name": "all", "answer": {"preference": "DECLINE"}}]}"#
    private static let wrong = #"{"refundRules": [{"name": "all", "when": {"usage": {"over": 1}}, "answer": {}}]}"#

    @Test func `lint names the place of a fault in a refund policy`() async throws {
        let folder = try TemporaryFolder()
        let files = [try folder.write("good.json", Self.policy), try folder.write("wrong.json", Self.wrong)]
        let good = try await SoukExecutable.run(["catalog", "lint", files[0], "--json"])
        #expect(good.status == 0 && good.json?["findings"] == [])
        let outcome = try await SoukExecutable.run(["catalog", "lint", "--json"] + files)
        #expect(outcome.status == 1)
        let finding = outcome.json?["findings"]?.arrayValue?.first
        #expect(finding?["pointer"] == "/refundRules/0/when/usage/over" && finding?["line"] == 1)
    }

    @Test func `serve refuses a policy with a fault, and one that could send nothing`() async throws {
        let folder = try TemporaryFolder()
        let database = "sqlite:" + folder.file("ledger.sqlite")
        for (text, message) in [(Self.wrong, "/refundRules/0/when/usage/over"), (Self.policy, "dry run")] {
            let file = try folder.write("policy.json", text)
            let outcome = try await SoukExecutable.run([
                "serve", "--database", database, "--bundle-id", "com.example.souk", "--refund-policy", file,
            ])
            #expect(outcome.status == 2 && outcome.errors.contains(message), "\(outcome.errors)")
        }
    }
}
