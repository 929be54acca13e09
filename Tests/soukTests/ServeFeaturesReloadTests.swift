import CurlTransport
import Foundation
import HTTPCore
import HostTestSupport
import Primitives
import StoreModel
import Testing

/// New features, and new secrets of webhooks, of servers that run.
@Suite struct ServeFeaturesReloadTests {
    private let shop: SignedShop
    private let network = CurlTransport.platformDefault()

    init() throws {
        shop = try SignedShop()
        try write(features: "pro")
    }

    private func write(features name: String) throws {
        _ = try shop.folder.write("features.json", #"{"features": {"\#(name)": ["tools"]}}"#)
    }

    /// A running `souk serve`, which is killed at the end of the test.
    private struct Server {
        let child: ChildProgram
        let url: String
        let publicKey: String
        let secretKey: String

        func reload(andAwait line: String) async {
            child.signal(SIGHUP)
            #expect(await child.errors.contains(line), "\(child.errors.soFar)")
        }
    }

    /// - Parameter keys: A server that shares the database; its keys are used.
    private func serve(
        _ database: String? = nil, sharing keys: Server? = nil, _ options: [String] = []
    ) async throws -> Server {
        let child = try ChildProgram(
            SoukExecutable.path(),
            [
                "serve", "--database", database ?? shop.database, "--bundle-id", SignedShop.app, "--environment",
                "sandbox", "--root", shop.folder.file("root.der"), "--features", shop.folder.file("features.json"),
                "--customer-rate-limit", "none",
            ] + options, in: shop.folder.path, output: .captured, errors: .captured)
        let greeting = try JSONValue(parsing: try #require(await child.output.firstLine()))
        func key(_ value: String?) throws -> String {
            try String(contentsOfFile: try #require(value), encoding: .utf8).trimmingCharacters(in: .newlines)
        }
        let secretFile = greeting["secretKeyFile"]?.stringValue
        return Server(
            child: child, url: try #require(greeting["listening"]?.stringValue),
            publicKey: try keys?.publicKey ?? greeting["publicKey"]?.stringValue ?? shop.publicKey,
            secretKey: try keys?.secretKey ?? secretFile.map(key) ?? key(shop.secretKeyFile))
    }

    private func present(_ id: String, by customer: String, at server: Server) async throws -> Int {
        try await network.send(
            HTTPRequest(
                method: .post, url: server.url + "/v1/customers/\(customer)/transactions",
                headers: ["Authorization": "Bearer \(server.publicKey)", "Content-Type": "application/json"],
                body: .json(["signedTransaction": .string(try shop.purchase(id))]))
        ).status
    }

    private func features(of customer: String, at server: Server) async throws -> [String] {
        let response = try await network.send(
            HTTPRequest(
                method: .get, url: server.url + "/v1/customers/\(customer)",
                headers: ["Authorization": "Bearer \(server.publicKey)"]))
        try #require(response.status == 200)
        return try WireJSON.decode(Customer.self, from: try await response.body.collect(upTo: 1 << 20))
            .features.map(\.name)
    }

    /// Reads the stream of events until it has an event of `customer` with `text`.
    private func awaitEvent(about customer: String, with text: String, at server: Server) async throws {
        let response = try await network.send(
            HTTPRequest(
                method: .get, url: server.url + "/v1/events",
                headers: ["Authorization": "Bearer \(server.secretKey)", "Last-Event-ID": "0"]))
        guard case .stream(let stream) = response.body else {
            Issue.record("The answer is no stream.")
            return
        }
        var bytes: [UInt8] = []
        while let piece = try await stream.next() {
            bytes += piece
            let isThere = String(decoding: bytes, as: UTF8.self).split(separator: "\n").contains {
                $0.hasPrefix("data:") && $0.contains(#""\#(customer)""#) && $0.contains(#""\#(text)""#)
            }
            if isThere { return stream.cancel() }
        }
        Issue.record("The stream ended.")
    }

    /// Sends requests to servers while `body` runs. All must be answered with 200.
    private func underLoad(_ servers: [Server], _ body: () async throws -> Void) async throws {
        let isOver = Locked(false)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, server) in servers.enumerated() {
                for worker in 0..<2 {
                    group.addTask {
                        var round = 0
                        while !isOver.withLock(\.self) {
                            let id = "\(number)-\(worker)-\(round)"
                            #expect(try await present(id, by: "load-\(id)", at: server) == 200)
                            _ = try await features(of: "anna", at: server)
                            round += 1
                        }
                    }
                }
            }
            do { try await body() } catch {
                isOver.withLock { $0 = true }
                throw error
            }
            isOver.withLock { $0 = true }
            try await group.waitForAll()
        }
    }

    private func stop(_ servers: Server...) async {
        for server in servers {
            server.child.terminate()
            #expect(await server.child.end() == 0)
        }
    }

    @Test func `new features change answers and become events while requests run`() async throws {
        let server = try await serve()
        for name in ["anna", "ben"] { #expect(try await present(name, by: name, at: server) == 200) }
        #expect(try await features(of: "anna", at: server) == ["pro"])
        try await underLoad([server]) {
            try write(features: "gold")
            await server.reload(andAwait: #""changedApps":["com.example.darkroom"]"#)
            #expect(try await features(of: "anna", at: server) == ["gold"])
            try await awaitEvent(about: "ben", with: "gold", at: server)
        }
        await stop(server)
    }

    @Test func `a wrong feature map changes nothing`() async throws {
        let server = try await serve()
        #expect(try await present("anna", by: "anna", at: server) == 200)
        for (text, reason) in [
            ("{", "The feature map is not JSON"),
            (#"{"features": {"pro": "tools"}}"#, "/features/pro should be a list of product ids"),
        ] {
            _ = try shop.folder.write("features.json", text)
            await server.reload(andAwait: reason)
        }
        #expect(!server.child.errors.soFar.contains(#""reloaded""#))
        #expect(try await features(of: "anna", at: server) == ["pro"])
        await stop(server)
    }

    @Test(arguments: [true, false]) func `a server that is killed after a reload starts with the right answers`(
        keepsNew: Bool
    ) async throws {
        let server = try await serve()
        for number in 0..<20 { #expect(try await present("\(number)", by: "c\(number)", at: server) == 200) }
        try write(features: "gold")
        await server.reload(andAwait: #""changedApps""#)
        server.child.signal(SIGKILL)
        #expect(await server.child.end() == 128 + SIGKILL)
        if !keepsNew { try write(features: "pro") }
        let next = try await serve(sharing: server)
        for number in 0..<20 {
            #expect(try await features(of: "c\(number)", at: next) == [keepsNew ? "gold" : "pro"])
        }
        await stop(next)
    }

    @Test(.enabled(if: PostgresCluster.isAvailable, "PostgreSQL is not installed"))
    func `two servers of one database follow a reload of one, and former features only if configured to`() async throws
    {
        let url = try await PostgresCluster.shared().makeDatabase()
        let first = try await serve(url)
        let second = try await serve(url, sharing: first)
        for name in ["anna", "ben"] { #expect(try await present(name, by: name, at: first) == 200) }
        func expect(_ feature: String) async throws {
            for server in [first, second] { #expect(try await features(of: "anna", at: server) == [feature]) }
        }
        try await expect("pro")
        try await underLoad([first, second]) {
            try write(features: "gold")
            await first.reload(andAwait: #""changedApps":["com.example.darkroom"]"#)
            try await expect("gold")
            try await awaitEvent(about: "ben", with: "gold", at: second)
        }
        try write(features: "pro")
        await second.reload(andAwait: #""supersededApps":["com.example.darkroom"]"#)
        try await expect("gold")
        let third = try await serve(url, sharing: first, ["--former-features", "activate"])
        try await expect("pro")
        try write(features: "gold")
        await third.reload(andAwait: #""changedApps":["com.example.darkroom"]"#)
        try await expect("gold")
        await stop(first, second, third)
    }

    @Test func `changed secrets of webhooks are taken over from the settings file`() async throws {
        for name in ["one", "two"] {
            _ = try shop.folder.write("\(name).secret", "\(name)-0123456789abcdef")
        }
        func settings(_ secret: String) -> String {
            JSONValue.object([
                "webhooks": [
                    [
                        "name": "crm", "bundleId": .string(SignedShop.app), "url": "http://127.0.0.1:1/",
                        "secretFiles": [.string(shop.folder.file("\(secret).secret"))],
                    ]
                ]
            ]).text()
        }
        let file = try shop.folder.write("souk.json", settings("one"))
        let server = try await serve(nil, ["--config", file])
        _ = try shop.folder.write("souk.json", settings("two"))
        await server.reload(andAwait: #""needsRestart":[]"#)
        #expect(!server.child.errors.soFar.contains("0123456789abcdef"))
        await stop(server)
    }
}
