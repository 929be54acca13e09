import BaseTestSupport
import CurlTransport
import Foundation
import HTTPCore
import HostTestSupport
import NetworkTestSupport
import Primitives
import Testing

@testable import souk

/// `souk intercept` between an independent client and server.
@Suite(.timeLimit(.minutes(3))) struct InterceptCommandTests {
    /// Echoes requests, and counts them.
    private final class Backend: HTTPHandler {
        let requests = Locked<[HTTPRequest]>([])

        func respond(to request: HTTPRequest) -> HTTPReply {
            requests.withLock { $0.append(request) }
            return .ready(
                HTTPResponse(
                    status: 200, headers: ["Content-Type": "application/json", "Set-Cookie": "session=planted-cookie"],
                    body: .text(#"{"price":7,"target":"\#(request.url)"}"#)))
        }
    }

    private func get(_ url: String, _ headers: HTTPHeaders = [:]) async throws -> HTTPResponse {
        var response = try await CurlTransport().send(HTTPRequest(method: .get, url: url, headers: headers))
        response.body = .bytes(try await response.body.collect(upTo: 1 << 20))
        return response
    }

    @Test func `traffic is unchanged, and recorded without its secrets in a file that is kept`() async throws {
        let folder = try TemporaryFolder()
        let backend = Backend()
        try await withLoopbackServer(backend) { upstream in
            let service = try await SoukService([
                "intercept", "--listen", "127.0.0.1:0", "--upstream", upstream + "/base", "--records",
                folder.file("records"),
            ])
            let answer = try await get(service.url + "/plans?x=1", ["Authorization": "Bearer planted-bearer"])
            #expect(answer.headers["Set-Cookie"] == "session=planted-cookie")
            #expect(answer.body.buffered == Array(#"{"price":7,"target":"/base/plans?x=1"}"#.utf8))
            let inspector = try #require(service.greeting["inspector"]?.stringValue)
            let page = try await get(inspector)
            #expect(page.status == 200 && page.headers["Content-Type"] == "text/html; charset=utf-8")
            #expect(await service.stop() == 0)
        }
        let request = try #require(backend.requests.withLock { $0.first })
        #expect(request.headers["Authorization"] == "Bearer planted-bearer")
        let kept = try FileManager.default.contentsOfDirectory(atPath: folder.path).map { name in
            try Data(contentsOf: URL(fileURLWithPath: folder.file(name)))
        }
        #expect(kept.contains { $0.range(of: Data("/base/plans?x=1".utf8)) != nil })
        #expect(!kept.contains { $0.range(of: Data("planted".utf8)) != nil })
    }

    @Test func `only its owner can read a file of records behind a dangling link, and the link stays`() async throws {
        let folder = try TemporaryFolder()
        let (link, file) = (folder.file("link.sqlite"), folder.file("records.sqlite"))
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: file)
        let service = try await SoukService([
            "intercept", "--listen", "127.0.0.1:0", "--upstream", "http://127.0.0.1:1", "--records", link,
        ])
        #expect(await service.stop() == 0)
        let attributes = try FileManager.default.attributesOfItem(atPath: file)
        #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == file)
    }

    @Test func `florets of a file change the traffic`() async throws {
        let folder = try TemporaryFolder()
        let florets = try folder.write(
            "florets.json",
            """
            {"florets": [{
              "floret": "findReplace",
              "request": [{"change": "setHeader", "name": "X-Souk", "value": "seen"}],
              "response": [{"change": "replace", "in": "body", "text": "7", "with": "8"}]
            }]}
            """)
        let backend = Backend()
        try await withLoopbackServer(backend) { upstream in
            let service = try await SoukService([
                "intercept", "--listen", "127.0.0.1:0", "--upstream", upstream, "--florets", florets,
            ])
            let answer = try await get(service.url + "/plans")
            #expect(answer.body.buffered == Array(#"{"price":8,"target":"/plans"}"#.utf8))
            #expect(await service.stop() == 0)
        }
        #expect(backend.requests.withLock { $0.first?.headers["X-Souk"] } == "seen")
    }

    @Test func `a request with an unknown host name does not reach the server behind the proxy`() async throws {
        let backend = Backend()
        try await withLoopbackServer(backend) { upstream in
            let service = try await SoukService([
                "intercept", "--listen", "127.0.0.1:0", "--upstream", upstream, "--host-name", "proxy.example",
            ])
            for (host, status) in [("proxy.example:1", 200), ("localhost", 200), ("evil.example", 403)] {
                #expect(try await get(service.url + "/", ["Host": host]).status == status, "\(host)")
            }
            #expect(try await get(service.url + "/", ["Origin": "http://localhost:3000"]).status == 200)
            #expect(await service.stop() == 0)
        }
        #expect(backend.requests.withLock { $0.count } == 3)
    }

    @Test func `uploads beyond the memory limit pass whole and are recorded as cut`() async throws {
        let backend = Backend()
        let body = [UInt8](repeating: 7, count: 300_000)
        try await withLoopbackServer(backend) { upstream in
            let service = try await SoukService([
                "intercept", "--listen", "127.0.0.1:0", "--upstream", upstream, "--body-memory", "0",
            ])
            let answer = try await CurlTransport().send(
                HTTPRequest(method: .post, url: service.url + "/up", body: .bytes(body)))
            #expect(try await answer.body.collect(upTo: 1 << 20) == Array(#"{"price":7,"target":"/up"}"#.utf8))
            let inspector = try #require(service.greeting["inspector"]?.stringValue)
            let list = try await get(inspector + "api/records").body.json()
            let id = try #require(list["records"]?[0]?["id"]?.stringValue)
            let recorded = try await get(inspector + "api/records/" + id).body.json()["original"]?["body"]
            #expect(recorded?["isCut"] == true && recorded?["passed"] == 300_000 && recorded?["bytes"] == 0)
            #expect(await service.stop() == 0)
        }
        #expect(backend.requests.withLock { $0.first?.body.buffered } == body)
    }

    @Test func `intercept ends while an answer still streams`() async throws {
        let streaming = AnyHTTPHandler { _ in
            let isFirst = Locked(true)
            let stream = HTTPBodyStream {
                let first = isFirst.withLock { first in
                    defer { first = false }
                    return first
                }
                if first { return [1] }
                try await untilCancelled()
            }
            return .ready(HTTPResponse(status: 200, body: .stream(stream)))
        }
        try await withLoopbackServer(streaming, stopGracePeriod: .zero) { upstream in
            let service = try await SoukService(["intercept", "--listen", "127.0.0.1:0", "--upstream", upstream])
            let answer = try await CurlTransport().send(HTTPRequest(method: .get, url: service.url + "/"))
            guard case .stream(let stream) = answer.body else {
                return #expect(Bool(false), "the body is not a stream")
            }
            #expect(try await stream.next() == [1])
            #expect(await service.stop() == 0)
        }
    }

    @Test(arguments: [
        "http://127.0.0.1", "http://localhost", "HTTP://LOCALHOST", "http://127.1", "http://2130706433",
        "http://0.0.0.0", "http://[::ffff:127.0.0.1]", "http://a.localhost",
    ])
    func `an upstream that is the proxy itself is refused, under each of its names`(origin: String) async throws {
        let port = try ReservedPort()
        for path in ["", "/", "/base"] {
            let outcome = try await SoukExecutable.run([
                "intercept", "--listen", "127.0.0.1:\(port.number)", "--upstream", "\(origin):\(port.number)\(path)",
            ])
            #expect(outcome.status == 2 && outcome.errors.contains("listens itself"), "\(outcome.errors)")
        }
        withExtendedLifetime(port) {}
    }

    @Test func `an upstream at another address of the same port is not the proxy itself`() async throws {
        let port = try ReservedPort()
        let service = try await SoukService([
            "intercept", "--listen", "127.0.0.1:\(port.number)", "--upstream", "http://127.0.0.2:\(port.number)",
        ])
        #expect(await service.stop() == 0)
        withExtendedLifetime(port) {}
    }

    @Test(arguments: [
        ("127.0.0.2", "0.0.0.0", true), ("::1", "0.0.0.0", false), ("::1", "::", true), ("127.0.0.1", "::", true),
        ("0.0.0.0", "::1", true), ("192.0.2.1", "0.0.0.0", false), ("192.0.2.1", "192.0.2.1", true),
        ("no-such-name.invalid", "0.0.0.0", false), ("localhost", "::1", true),
    ])
    func `a target reaches a listener if one of its addresses leads there`(
        target: String, bound: String, isReached: Bool
    ) {
        #expect(HostAddresses(of: target).reach(listenerAt: HostAddresses(of: bound)) == isReached)
    }

    @Test(arguments: [
        (["--upstream", "http://127.0.0.1:1"], "--listen"),
        (["--listen", "127.0.0.1:0"], "--upstream"),
        (["--listen", "8080", "--upstream", "http://127.0.0.1:1"], "HOST:PORT"),
        (["--listen", "127.0.0.1:0", "--upstream", "127.0.0.1:1"], "http"),
        (["--listen", "127.0.0.1:0", "--upstream", "http://127.0.0.1:1", "--florets", "/nowhere"], "/nowhere"),
        (["--listen", "127.0.0.1:0", "--upstream", "http://127.0.0.1:1", "--records", "/nowhere/r"], "/nowhere/r"),
    ])
    func `a usage error is one sentence that says what is wrong`(arguments: [String], word: String) async throws {
        let outcome = try await SoukExecutable.run(["intercept"] + arguments)
        #expect(outcome.status == 2)
        #expect(outcome.errors.contains(word) && outcome.errors.split(separator: "\n").count == 1)
        #expect(outcome.output.isEmpty)
    }
}
