import Foundation
import HTTPCore
import Primitives
import StoreModel
import Testing

@testable import AppStoreSimulator

/// Scenarios with a server, which is a stub here. `soukTests` runs them with the entitlement server.
@Suite struct ScenarioServerTests {
    /// A server that records its requests. It answers about customers with their name, and refuses purchases of `ben`.
    private struct StubServer: ScenarioServer {
        final class Log: Sendable {
            let requests = Locked<[(method: String, target: String, key: String?, body: JSONValue)]>([])
            let settings = Locked<Scenario.ServerSettings?>(nil)
            /// The number of notifications before each call of `doDueWork`.
            let work = Locked<[Int]>([])
            let isClosed = Locked(false)

            var targets: [String] { requests.withLock { $0.map(\.target) } }
            var notifications: Int { targets.count { $0.contains("/v1/notifications/") } }
        }

        @TaskLocal static var log = Log()

        static let answer = WireSchema.object([
            .required("customer", .text), .optional("until", .date), .required("subscriptions", .array(.text)),
        ])

        static func open(_ settings: Scenario.ServerSettings, for store: SimulatedAppStore) -> StubServer {
            log.settings.withLock { $0 = settings }
            return StubServer(log: log)
        }

        let log: Log
        let publicKey = "the-key"

        var handler: any HTTPHandler { Handler(log: log) }

        func doDueWork() { log.work.withLock { $0.append(log.notifications) } }
        func close() { log.isClosed.withLock { $0 = true } }

        private struct Handler: HTTPHandler {
            let log: Log

            func respond(to request: HTTPRequest) -> HTTPReply {
                .suspended {
                    let body = (try? await request.body.json()) ?? .null
                    log.requests.withLock {
                        $0.append((request.method.rawValue, request.target, request.headers["Authorization"], body))
                    }
                    let customer = request.path.split(separator: "/").dropFirst(2).first.map(String.init) ?? ""
                    if request.method == .get {
                        return HTTPResponse(
                            status: 200, json: ["customer": .string(customer), "subscriptions": ["one"]])
                    }
                    switch customer {
                    case "ben": return HTTPResponse(status: 422, json: ["code": "no", "detail": "Not for Ben."])
                    case "carla":
                        return HTTPResponse(
                            status: 200, json: ["rejected": [["index": 0, "code": "taken", "detail": "Ben has it."]]])
                    default: return HTTPResponse(status: 200, json: ["rejected": []])
                    }
                }
            }
        }
    }

    private static let more = #""server": {},"#
    private static let buy =
        #"{"createAccount": "anna"}, {"buy": {"account": "anna", "productID": "pack"}, "as": "pack"}"#
    private static let present = #"{"present": {"account": "anna", "customer": "anna"}}"#
    private static let expect = #"{"expect": {"customer": "anna", "answer": {"customer": "anna"}}}"#

    private func scenario(_ steps: String, _ more: String = more) throws -> Scenario {
        try Scenario(
            parsing: Array(Scenarios.text(steps, more).utf8), file: "test.json", folder: "", server: StubServer.self)
    }

    private func run(_ steps: String, _ more: String = more) async throws -> (Scenario.Report, StubServer.Log) {
        let log = StubServer.Log()
        let report = try await StubServer.$log.withValue(log) { try await scenario(steps, more).run() }
        return (report, log)
    }

    // MARK: - Running

    @Test func `an app presents its transactions with the key of the app`() async throws {
        let (report, log) = try await run(
            #"{"createAccount": "anna"}, {"buy": {"account": "anna", "productID": "pack"}},"#
                + #"{"buy": {"account": "anna", "productID": "coins"}}, \#(Self.present), \#(Self.expect)"#)
        #expect(report.holds, "\(report)")
        let posted = log.requests.withLock { $0 }.filter { $0.target == "/v1/customers/anna/transactions" }
        #expect(posted.count == 1 && posted[0].method == "POST" && posted[0].key == "Bearer the-key")
        #expect(posted[0].body["signedTransactions"]?.arrayValue?.count == 2)
        #expect(log.isClosed.withLock { $0 })
    }

    @Test func `notifications reach the server, and its work is done after them`() async throws {
        let (report, log) = try await run("\(Self.buy), \(Self.expect)")
        #expect(report.holds, "\(report)")
        #expect(log.targets.contains("/v1/notifications/app-store"))
        #expect(log.work.withLock { $0 } == [0, 1, 1])
    }

    @Test func `the receiver can lose the notifications of the server for a while`() async throws {
        let steps = """
            {"receiver": "down"}, \(Self.buy), \(Self.expect), {"receiver": [503, "server"]}, {"advance": "1h"},
            {"advance": "12h"}, {"expect": {"attempts": {"last": [{"attempt": 3, "result": "SUCCESS"}]}}}
            """
        let (report, log) = try await run(steps)
        #expect(report.holds, "\(report)")
        #expect(log.notifications == 1)
    }

    @Test(arguments: [("ben", "no: Not for Ben."), ("carla", "taken: Ben has it.")])
    func `a refused presentation ends the scenario, unless it is expected`(
        customer: String, refusal: String
    ) async throws {
        let present = #"{"present": {"account": "anna", "customer": "\#(customer)"}"#
        let (report, _) = try await run("\(Self.buy), \(present)}, \(Self.expect)")
        #expect(report.differences == ["/steps/2": ["- done", "+ refused: \(refusal)"]])
        #expect(report.steps.last?.outcome == .skipped)
        let code = refusal.prefix { $0 != ":" }
        let (expected, _) = try await run(#"\#(Self.buy), \#(present), "refused": "\#(code)"}, \#(Self.expect)"#)
        #expect(expected.holds, "\(expected)")
        let (done, _) = try await run(#"\#(Self.buy), \#(Self.present.dropLast()), "refused": "no"}"#)
        #expect(done.differences == ["/steps/2": ["- refused: no", "+ done"]])
    }

    @Test func `an account without transactions has nothing to present`() async throws {
        let (report, log) = try await run(
            #"{"createAccount": "anna"}, \#(Self.present.dropLast()), "refused": "notNow"}"#)
        #expect(report.holds, "\(report)")
        #expect(log.requests.withLock { $0.isEmpty })
    }

    @Test func `a wrong answer is shown with both sides`() async throws {
        let (report, _) = try await run(
            #"{"expect": {"customer": "anna", "answer": {"customer": "anna", "subscriptions": ["two"]}}}"#)
        #expect(
            report.differences == [
                "/steps/0/expect/answer": [#"- subscriptions: ["two"]"#, #"+ subscriptions: ["one"]"#]
            ])
    }

    // MARK: - Reading

    @Test func `the settings of the server are read, and files are relative to the scenario`() async throws {
        let (_, log) = try await run(
            Self.expect,
            """
            "server": {"features": {"features": {"pro": ["pack"]}, "credits": {"coin": {"products": {"coins": 7}, "prices": {"print": 1}}}},
             "transferMode": "share", "playConsumable": ["coins", "gems"]},
            """)
        let settings = try #require(log.settings.withLock { $0 })
        #expect(
            settings.features.features == ["pro": ["pack"]] && settings.credits.credits.keys.elementsEqual(["coin"]))
        #expect(settings.transferMode == .share && settings.playConsumables == ["coins", "gems"])
        let folder = try ScratchFolder()
        try Data(#"{"features": {"pro": ["coins"]}}"#.utf8).write(to: URL(fileURLWithPath: folder.path + "/map.json"))
        let text = Scenarios.text(Self.expect, #""server": {"features": "map.json", "playConsumable": "gems"},"#)
        let read = try Scenario(
            parsing: Array(text.utf8), file: "a.json", folder: folder.path, server: StubServer.self)
        #expect(read.server?.settings.features.features == ["pro": ["coins"]])
        #expect(read.server?.settings.playConsumables == ["gems"])
    }

    @Test(arguments: [
        (#""server": 7,"#, expect, "/server", "should be a JSON object"),
        (#""server": {"feature": 1},"#, expect, "/server/feature", "no member"),
        (#""server": {"features": 7},"#, expect, "/server/features", "path of a file"),
        (#""server": {"features": "none.json"},"#, expect, "/server/features", "is not there"),
        (#""server": {"features": {}},"#, expect, "/server/features", "with the member"),
        (
            #""server": {"features": {"features": {"pro": [7]}}},"#, expect, "/server/features/features/pro/0",
            "product id"
        ),
        (#""server": {"transferMode": "steal"},"#, expect, "/server/transferMode", "keepWithOriginal"),
        (#""server": {"playConsumable": ["a", 7]},"#, expect, "/server/playConsumable/1", "should have"),
        ("", expect, "/steps/0/expect/answer", "needs a server"),
        ("", present, "/steps/0/present", "needs a server"),
        ("", #"{"playPresent": {"purchase": "1", "customer": "anna"}}"#, "/steps/0/playPresent", "needs a server"),
        ("", #"{"receiver": [200, "server"]}"#, "/steps/0/receiver/1", "needs a server"),
        ("", #"{"realtime": "server"}"#, "/steps/0/realtime", "needs a server"),
        (more, #"{"expect": {"answer": {}}}"#, "/steps/0/expect/answer", "name the customer"),
        (more, #"{"expect": {"customer": "", "answer": {}}}"#, "/steps/0/expect/customer", "1 to 255"),
        (more, #"{"expect": {"customer": "anna", "accounts": []}}"#, "/steps/0/expect/customer", "depends on"),
        (
            more, #"{"expect": {"customer": "anna", "answer": {"feature": []}}}"#, "/steps/0/expect/answer/feature",
            "there is no"
        ),
        (more, #"{"expect": {"customer": "anna", "answer": []}}"#, "/steps/0/expect/answer", "an object"),
        (more, #"{"present": "anna"}"#, "/steps/0/present", "should be a JSON object"),
        (more, #"{"present": {"account": "anna"}}"#, "/steps/0/present/customer", "is missing"),
        (more, #"{"present": {"account": "anna", "customer": ""}}"#, "/steps/0/present/customer", "should have"),
        (more, #"{"present": {"account": "anna", "customer": "a", "as": 1}}"#, "/steps/0/present/as", "no member"),
        (
            more, #"{"playPresent": {"purchase": "plus", "customer": "a"}}"#, "/steps/0/playPresent/purchase",
            "no earlier step"
        ),
        (more, #"\#(present.dropLast()), "as": "it"}"#, "/steps/0/as", "creates nothing"),
    ])
    func `a fault in the server or in its steps has its place`(
        more: String, step: String, pointer: String, reason: String
    ) {
        let error = #expect(throws: ScenarioError.self) {
            try scenario("\(step), {\"expect\": {\"accounts\": []}}", more)
        }
        #expect(error?.pointer == pointer && error?.reason.contains(reason) == true, "\(error as Any)")
    }

    @Test func `a program without a server refuses the scenario, and reads no file for it`() async throws {
        let text = Scenarios.text(Self.expect, #""server": {"features": "none.json"},"#)
        let error = #expect(throws: ScenarioError.self) {
            try Scenario(parsing: Array(text.utf8), file: "test.json", folder: "")
        }
        #expect(error?.pointer == "/server" && error?.reason.contains("souk scenario run") == true)
        try await TestStore.with { test in
            let answer = try await StoreRoutesTests.Client(test).ask(.post, "/control/v1/scenarios/run", text)
            #expect(answer.status == 422 && answer.json["detail"]?.stringValue?.contains("/server: ") == true)
        }
    }
}
