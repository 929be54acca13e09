import BaseTestSupport
import Foundation
import HTTPCore
import NetworkInterception
import NetworkTestSupport
import Primitives
import Testing

@Suite struct HARCommandTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Writes a file with two invented records: a greeting, and an error response to a POST request.
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

    @Test func `lint reports the place and line of errors, and sets the exit status`() async throws {
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
        #expect(nothing.status == 1 && nothing.output.contains("This is not JSON"))
    }

    @Test func `show lists the entries, a selection of them, or one entry in full`() async throws {
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

    @Test func `replay sends the recorded requests and compares the answers`() async throws {
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

    @Test func `requests of a recording go to another machine only with --to`() async throws {
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

    private static let secret = "PLANTED7xK9mQ2v"

    private static func pairs(_ name: String) -> JSONValue { [["name": .string(name), "value": .string(secret)]] }

    private static func entry(
        _ request: JSONMembers, _ response: JSONMembers = [:], _ rest: JSONMembers = [:]
    ) -> JSONValue {
        func merged(_ members: JSONMembers, _ more: JSONMembers) -> JSONMembers {
            more.reduce(into: members) { $0[$1.key] = $1.value }
        }
        let sent: JSONMembers = [
            "method": "POST", "httpVersion": "HTTP/1.1", "cookies": [], "queryString": [], "headers": [],
            "headersSize": -1, "bodySize": -1,
        ]
        let answered: JSONMembers = [
            "status": 200, "statusText": "OK", "httpVersion": "HTTP/1.1", "cookies": [], "headers": [],
            "content": ["size": 0, "mimeType": "text/plain"], "redirectURL": "", "headersSize": -1, "bodySize": -1,
        ]
        let entry: JSONMembers = [
            "startedDateTime": "2026-03-01T10:00:00.000Z", "time": 1, "cache": [:],
            "timings": ["send": 0, "wait": 1, "receive": 0], "request": .object(merged(sent, request)),
            "response": .object(merged(answered, response)),
        ]
        return .object(merged(entry, rest))
    }

    /// A file of another program, with secrets in all places of the format.
    private func otherArchive(_ url: String) throws -> String {
        let secret = Self.secret
        let encoded = JSONValue.string(Data(#"{"password":"\#(secret)","n":1}"#.utf8).base64EncodedString())
        let entries = [
            Self.entry(
                [
                    "url": .string("\(url)/token/\(secret)1?access_token=\(secret)&code=\(secret)#id_token=\(secret)"),
                    "headers": [
                        ["name": "X-Api-Key", "value": .string(secret)],
                        ["name": ":path", "value": .string("/?code=\(secret)")],
                    ],
                    "cookies": Self.pairs("a"), "queryString": Self.pairs("code"),
                ],
                [
                    "cookies": Self.pairs("b"), "redirectURL": .string("http://h/?code=\(secret)"),
                    "headers": Self.pairs("Set-Cookie"),
                ]),
            Self.entry(
                [
                    "url": .string("\(url)/login"),
                    "postData": ["mimeType": "application/x-www-form-urlencoded", "params": Self.pairs("code")],
                ],
                ["content": ["size": 60, "mimeType": "application/json", "encoding": "base64", "text": encoded]]),
            Self.entry(
                [
                    "url": .string("\(url)/note"),
                    "postData": ["mimeType": "text/plain", "text": .string("password=\(secret)")],
                ],
                [
                    "statusText": .string("password=\(secret)"),
                    "headers": [["name": "Content-Encoding", "value": "gzip"]],
                    "content": [
                        "size": 40, "mimeType": "text/plain", "text": .string("token: \(secret)"), "comment": "n",
                    ],
                ],
                [
                    "comment": .string("token=\(secret)"), "_x": ["apiKey": .string(secret), "kept": "KEPT"],
                    "_initiator": .string("http://u:\(secret)@h/"),
                ]),
            Self.entry(
                [
                    "url": .string("\(url)/failed"),
                    "postData": ["mimeType": "a/b", "_encoding": "base64", "text": encoded],
                ],
                ["status": 0, "_error": .string("token=\(secret) was refused")],
                [
                    "_original": [
                        "method": "GET", "url": .string("http://h/?token=\(secret)"),
                        "headers": Self.pairs("Authorization"),
                    ]
                ]),
        ]
        let log: JSONValue = [
            "version": "1.2", "creator": ["name": .string("token=\(secret)"), "version": "1"],
            "entries": .array(entries),
        ]
        return try folder.write("other.har", JSONValue.object(["log": log]).text())
    }

    /// The text, and the decoded base64 in it.
    private static func readings(_ text: String) -> String {
        let encoded = text.matches(of: /[A-Za-z0-9+\/]{24,}=*/).compactMap { Data(base64Encoded: String($0.output)) }
        return text + encoded.map { String(decoding: $0, as: UTF8.self) }.joined()
    }

    @Test func `secrets that another program recorded are not shown`() async throws {
        let file = try otherArchive("http://127.0.0.1:9")
        #expect(Self.readings(try folder.text("other.har")).components(separatedBy: "PLANTED").count > 20)
        var all = [["har", "lint", file], ["har", "show", file], ["har", "show", file, "--json"]]
        for number in 1...4 {
            all.append(["har", "show", file, "--entry", String(number)])
            all.append(["har", "show", file, "--entry", String(number), "--json"])
        }
        for arguments in all {
            let outcome = try await SoukExecutable.run(arguments)
            #expect(outcome.status == 0 && !outcome.output.isEmpty, "\(arguments) \(outcome.errors)")
            let text = Self.readings(outcome.output + outcome.errors)
            #expect(!text.contains("PLANTED"), "\(arguments) \(text)")
        }
        let whole = try await SoukExecutable.run(["har", "show", file, "--entry", "2"])
        #expect(whole.output.contains("\"n\": 1") && whole.output.contains("code=%5Bredacted%5D"), "\(whole.output)")
        let json = try await SoukExecutable.run(["har", "show", file, "--entry", "3", "--json"]).json?["entries"]?[0]?[
            "har"]
        #expect(json?["_x"] == ["apiKey": "[redacted]", "kept": "KEPT"])
        #expect(json?["response"]?["content"]?["comment"] == "n")
        #expect(json?["response"]?["content"]?["text"] == "token: [redacted]")
    }

    @Test func `secrets that another program recorded are sent again and not printed`() async throws {
        let requests = CallLog<String>()
        let echo = AnyHTTPHandler { request in
            .suspended {
                let body = String(decoding: (try? await request.body.collect(upTo: 1 << 20)) ?? [], as: UTF8.self)
                requests.record("\(request.url) \(request.headers["X-Api-Key"] ?? "") \(body)")
                return HTTPResponse(status: 200, body: .text("token=PLANTED"))
            }
        }
        try await withLoopbackServer(echo) { url in
            let file = try otherArchive(url)
            for more in [[], ["--json"]] {
                let outcome = try await SoukExecutable.run(["har", "replay", file] + more)
                #expect(outcome.status == 1 && outcome.output.contains("/login"), "\(outcome.errors)")
                let text = Self.readings(outcome.output + outcome.errors)
                #expect(!text.contains("PLANTED"), "\(text)")
            }
        }
        let sent = requests.all.joined(separator: "\n")
        #expect(sent.contains("access_token=PLANTED7xK9mQ2v&code=PLANTED7xK9mQ2v PLANTED7xK9mQ2v"), "\(sent)")
        #expect(sent.contains("code=PLANTED7xK9mQ2v") && sent.contains("password=PLANTED7xK9mQ2v"))
    }

    @Test func `replay reports a missing answer as a difference`() async throws {
        let file = try archive("http://127.0.0.1:9")
        let outcome = try await SoukExecutable.run(["har", "replay", file, "--timeout", "5"])
        #expect(outcome.status == 1 && outcome.output.contains("no answer"))
    }
}
