import Foundation
import HTTPCore
import NetworkInterception
import NetworkTestSupport
import Primitives
import Testing

@Suite struct HARCommandTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// A file of what `souk serve` never said: a greeting, a refusal and a failure.
    private func archive(_ url: String, status: Int = 200) throws -> String {
        var greeting = Record(
            HTTPRequest(method: .get, url: "\(url)/hello?name=a", headers: ["Authorization": "Bearer x"]))
        greeting.result = .success(
            Response(status: status, headers: ["Content-Type": "application/json"], body: .text("{\"a\":1, \"b\":2}")))
        greeting.timing = .init(started: Date(timeIntervalSince1970: 1_800_000_000))
        var posted = Record(HTTPRequest(method: .post, url: "\(url)/things", body: .text("thing")))
        posted.result = .success(Response(status: 422, body: .text("no")))
        posted.timing = .init(started: Date(timeIntervalSince1970: 1_800_000_001))
        let bytes = HARDocument([posted, greeting]).encoded()
        return try folder.write("traffic.har", String(decoding: bytes, as: UTF8.self))
    }

    private let server = AnyHTTPHandler { request in
        .suspended {
            let body = (try? await request.body.collect(upTo: 1 << 20)) ?? []
            if request.url == "/things", body == Array("thing".utf8) {
                return HTTPResponse(status: 422, body: .text("no"))
            }
            guard request.url == "/hello?name=a" else { return HTTPResponse(status: 404) }
            return HTTPResponse(
                status: 200, headers: ["X-Auth": request.headers["Authorization"] ?? "none"],
                body: .text("{\"b\":2,\"a\":1}"))
        }
    }

    @Test func `lint tells place and line of what is wrong, and exits by it`() async throws {
        let good = try archive("http://h")
        let fine = try await SoukExecutable.run(["har", "lint", good])
        #expect(fine.status == 0 && fine.output == "1 file, 0 errors, 0 warnings\n")
        let text = try String(contentsOfFile: good, encoding: .utf8)
        let broken = try folder.write(
            "broken.har",
            try JSONValue(parsing: text).text(pretty: true).replacingOccurrences(
                of: "\"status\": 422", with: "\"status\": \"no\""))
        let outcome = try await SoukExecutable.run(["har", "lint", "--json", broken])
        #expect(outcome.status == 1)
        let finding = try #require(outcome.json?["findings"]?[0])
        #expect(finding["pointer"] == "/log/entries/1/response/status" && finding["severity"] == "error")
        #expect((finding["line"]?.intValue ?? 0) > 50)
        let doubtful = try folder.write("late.har", text.replacingOccurrences(of: "\"time\":0", with: "\"time\":90"))
        let warned = try await SoukExecutable.run(["har", "lint", doubtful])
        #expect(warned.status == 0 && warned.output.contains("0 errors, 2 warnings"))
        let nothing = try await SoukExecutable.run(["har", "lint", try folder.write("nothing.har", "no")])
        #expect(nothing.status == 1 && nothing.output.contains("This is no JSON"))
    }

    @Test func `show lists what there is, and one in full`() async throws {
        let file = try archive("http://h")
        let table = try await SoukExecutable.run(["har", "show", file])
        #expect(table.status == 0)
        #expect(table.output.contains("GET http://h/hello?name=a") && table.output.contains("POST http://h/things"))
        let posts = try await SoukExecutable.run(["har", "show", "--only", "status:4xx", "--json", file])
        #expect(posts.json?["entries"]?.arrayValue?.map { $0["entry"] } == [2])
        let whole = try await SoukExecutable.run(["har", "show", file, "--entry", "1"])
        #expect(whole.output.contains("Authorization: [redacted]") && whole.output.contains("\"b\": 2"))
        #expect(try await SoukExecutable.run(["har", "show", file, "--entry", "3"]).status == 2)
        #expect(try await SoukExecutable.run(["har", "show", try folder.write("x.har", "{}")]).status == 2)
    }

    @Test func `replay sends what was recorded and compares what comes`() async throws {
        try await withLoopbackServer(server) { url in
            let file = try archive(url)
            let same = try await SoukExecutable.run(["har", "replay", file])
            #expect(same.status == 0, "\(same.output) \(same.errors)")
            #expect(same.output.contains("2 of 2 answers are the same"))
            let other = try archive(url, status: 500)
            let differs = try await SoukExecutable.run(["har", "replay", "--json", other])
            #expect(differs.status == 1)
            #expect(differs.json?["entries"]?[0]?["differences"] == ["the status is 200, it was 500"])
            #expect(differs.json?["same"] == 1)
        }
    }

    @Test func `requests go to other machines only where somebody says so`() async throws {
        try await withLoopbackServer(server) { url in
            let file = try archive("http://shop.example")
            let refused = try await SoukExecutable.run(["har", "replay", file])
            #expect(refused.status == 2 && refused.errors.contains("goes to shop.example"))
            let mapped = try await SoukExecutable.run([
                "har", "replay", file, "--to", url + "/", "--header", "Authorization: new", "--only", "method:get",
            ])
            #expect(mapped.status == 0 && mapped.output.contains("1 of 1"), "\(mapped.output) \(mapped.errors)")
            for wrong in ["shop", "ftp://h", "http://", "http://h/?a"] {
                #expect(try await SoukExecutable.run(["har", "replay", file, "--to", wrong]).status == 2)
            }
        }
    }

    @Test func `an answer that does not come differs`() async throws {
        let file = try archive("http://127.0.0.1:9")
        let outcome = try await SoukExecutable.run(["har", "replay", file, "--timeout", "5"])
        #expect(outcome.status == 1 && outcome.output.contains("no answer"))
    }
}
