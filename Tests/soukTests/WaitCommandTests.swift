import Foundation
import HTTPCore
import HostTestSupport
import NetworkTestSupport
import Primitives
import Testing

/// `souk wait`: a script continues when a service answers.
@Suite struct WaitCommandTests {
    @Test func `wait prints the URL of a service after its first line`() async throws {
        let folder = try TemporaryFolder()
        let file = folder.file("store.json")
        let waiting = try ChildProgram(SoukExecutable.path(), ["wait", file], output: .captured)
        let service = try ChildProgram(
            SoukExecutable.path(), ["simulate", "--catalog", TestFiles.darkroom, "--stop-with-parent"],
            input: .captured, output: .file(file))
        let printed = await waiting.output.text()
        #expect(await waiting.end() == 0)
        let greeting = try JSONValue(parsing: try folder.text("store.json"))
        #expect(printed == (greeting["listening"]?.stringValue ?? "") + "\n")
        let json = try await SoukExecutable.run(["wait", file, "--json"])
        #expect(json.json == greeting)
        service.closeInput()
        #expect(await service.end() == 0)
    }

    @Test func `status 503 means that a service is starting, and any other status is an answer`() async throws {
        let statuses = Locked([503, 503, 404])
        let handler = AnyHTTPHandler { _ in
            .ready(HTTPResponse(status: statuses.withLock { $0.count > 1 ? $0.removeFirst() : $0[0] }))
        }
        try await withLoopbackServer(handler) { url in
            let outcome = try await SoukExecutable.run(["wait", url + "/health"])
            #expect(outcome.status == 0 && outcome.output == url + "/health\n", "\(outcome)")
            #expect(statuses.withLock { $0 } == [404])
        }
    }

    @Test func `a password in a URL is sent and never printed`() async throws {
        let authorizations = Locked<[String?]>([])
        let handler = AnyHTTPHandler { request in
            authorizations.withLock { $0.append(request.headers["Authorization"]) }
            return .ready(HTTPResponse(status: 404))
        }
        let folder = try TemporaryFolder()
        let port = try ReservedPort()
        try await withLoopbackServer(handler) { url in
            func secret(_ url: String) -> String { url.replacingOccurrences(of: "://", with: "://anna:PW-7%2f@") }
            let key = try folder.write("key", "souk_secret_any")
            let lines = try folder.write("lines.jsonl", #"{"customer":"a","signedTransaction":"x"}"#)
            for arguments in [
                ["wait", secret(url)], ["wait", secret(url), "--json"], ["wait", secret(port.url), "--timeout", "1s"],
                ["wait", secret("http://127.0.0.1:x")], ["wait", "http://anna:P@W-7@host"],
                ["store", "--url", secret(url), "account", "list"],
                ["store", "--url", secret(port.url), "--json", "account", "list"],
                ["store", "--url", secret("ftp://host"), "account", "list"],
                ["store", "--url", "anna:P@W-7@host", "account", "list"],
                ["import", lines, "--url", secret(url), "--key-file", key],
                ["intercept", "--listen", "127.0.0.1:0", "--upstream", secret(url)],
                ["har", "replay", lines, "--to", secret("ftp://host")],
                ["serve", "--database", secret("mysql://host/db"), "--bundle-id", "com.example.a"],
                [
                    "serve", "--database", "sqlite:" + folder.file("l"), "--bundle-id", "com.example.a", "--clock",
                    secret(url),
                ],
                [secret(url)], ["store", secret(url)], ["wait", url, secret(url)],
                ["wait", "//anna:PW-7@host", "--timeout", "1s"], ["store", "--url", "//anna:P@W-7@host/", "clock"],
                ["wait", url, "//anna:PW-7@host/a"], ["har", "replay", lines, "--to", "//anna:PW-7@host"],
                ["inspect", "--records", "//anna:PW-7@host?token=W-7"],
            ] {
                let outcome = try await SoukExecutable.run(arguments)
                let all = outcome.output + outcome.errors
                #expect(!all.contains("anna") && !all.contains("W-7"), "\(arguments): \(all)")
                #expect(!all.isEmpty)
            }
            #expect(try await SoukExecutable.run(["wait", secret(url)]).output == url + "\n")
        }
        #expect(authorizations.withLock { $0.contains { $0?.hasPrefix("Basic ") == true } })
        withExtendedLifetime(port) {}
    }

    @Test func `tokens in the query and the fragment of a URL are never printed`() async throws {
        let folder = try TemporaryFolder()
        let port = try ReservedPort()
        try await withLoopbackServer(AnyHTTPHandler { _ in .ready(HTTPResponse(status: 404)) }) { url in
            func secret(_ url: String) -> String { url + "/x?token=PLANTED#access_token=PLANTED" }
            let entry: JSONValue = [
                "startedDateTime": "2026-01-01T00:00:00Z", "time": 1,
                "request": [
                    "method": "GET", "url": .string(secret(url)), "httpVersion": "HTTP/1.1", "headers": [],
                    "queryString": [], "cookies": [], "headersSize": -1, "bodySize": 0,
                ],
                "response": [
                    "status": 200, "statusText": "OK", "httpVersion": "HTTP/1.1", "headers": [], "cookies": [],
                    "content": ["size": 0, "mimeType": "text/plain", "text": ""], "redirectURL": "", "headersSize": -1,
                    "bodySize": 0,
                ],
                "cache": [:], "timings": ["send": 0, "wait": 1, "receive": 0],
            ]
            let log: JSONValue = [
                "log": ["version": "1.2", "creator": ["name": "a", "version": "1"], "entries": [entry]]
            ]
            let archive = try folder.write("a.har", log.text())
            for arguments in [
                ["wait", secret(url)], ["wait", secret(url), "--json"], ["wait", secret(port.url), "--timeout", "1s"],
                ["store", "--url", secret(url), "account", "list"],
                ["store", "--url", secret(url), "account", "list", "--json"],
                [
                    "serve", "--database", "sqlite:" + folder.file("l"), "--bundle-id", "com.example.a", "--clock",
                    secret(url),
                ],
                ["har", "replay", archive], ["har", "replay", archive, "--json"],
                ["import", archive, "--url", secret(port.url), "--key-file", archive],
            ] {
                let outcome = try await SoukExecutable.run(arguments)
                let all = outcome.output + outcome.errors
                #expect(!all.contains("PLANTED") && !all.isEmpty, "\(arguments): \(all)")
            }
            #expect(try await SoukExecutable.run(["wait", secret(url)]).output == url + "/x\n")
        }
        withExtendedLifetime(port) {}
    }

    @Test(arguments: ["", "ftp://h", "file:///x", "localhost:8080", "127.0.0.1:80"])
    func `text that is neither an HTTP URL nor a file is a usage error at once`(_ place: String) async throws {
        let outcome = try await SoukExecutable.run(["wait", place, "--timeout", "1h"])
        #expect(outcome.status == 2 && outcome.errors.contains("http://127.0.0.1:8080"), "\(outcome.errors)")
    }

    @Test func `the error names the service that did not answer in time`() async throws {
        let folder = try TemporaryFolder()
        let port = try ReservedPort()
        let unanswered = try await SoukExecutable.run(["wait", port.url, "--timeout", "1s"])
        #expect(unanswered.status == 1 && unanswered.errors == "souk: \(port.url) does not answer after 1s\n")
        let silent = try await SoukExecutable.run(["wait", try folder.write("empty", ""), "--timeout", "1s"])
        let reason = "empty: no running service has written its first line to this file"
        #expect(silent.status == 1 && silent.errors.contains(reason), "\(silent.errors)")
        withExtendedLifetime(port) {}
    }

    @Test(arguments: ["hello\n", "{}\n", #"{"listening": "ftp://x"}"# + "\n"])
    func `a first line that names no service is a usage error`(_ line: String) async throws {
        let folder = try TemporaryFolder()
        let outcome = try await SoukExecutable.run(["wait", try folder.write("line", line)])
        #expect(outcome.status == 2, "\(outcome.errors)")
        #expect(outcome.errors.split(separator: "\n").count == 1 && outcome.output.isEmpty)
    }

    @Test func `an invalid time is a usage error`() async throws {
        let outcome = try await SoukExecutable.run(["wait", "http://127.0.0.1:1", "--timeout", "soon"])
        #expect(outcome.status == 2 && outcome.errors.contains("a duration is written"))
    }
}
