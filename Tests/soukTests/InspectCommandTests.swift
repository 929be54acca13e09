import CurlTransport
import Foundation
import HTTPCore
import HostTestSupport
import NetworkInterception
import Primitives
import Testing

@Suite struct InspectCommandTests {
    private let transport = CurlTransport()

    private func get(_ url: String, _ headers: HTTPHeaders = [:]) async throws -> HTTPResponse {
        try await transport.send(HTTPRequest(method: .get, url: url, headers: headers))
    }

    @Test func `inspect prints the page's address, serves the page, and stops on a signal`() async throws {
        let service = try await SoukService(["inspect", "--port", "0"])
        let address = try #require(service.greeting["inspector"]?.stringValue)
        #expect(address == service.url + "/")
        let page = try await get(address)
        #expect(page.status == 200)
        #expect(page.headers["Content-Type"] == "text/html; charset=utf-8")
        let port = try #require(service.url.split(separator: ":").last)
        #expect(try await get(address, ["Host": "evil.example:\(port)"]).status == 403)
        #expect(await service.stop() == 0)
    }

    @Test func `a request that is written on the page is sent and recorded`() async throws {
        let service = try await SoukService(["inspect"])
        let other = try await SoukService(["inspect"])
        let sent = try await transport.send(
            HTTPRequest(
                method: .post, url: service.url + "/api/requests", headers: ["X-Souk-Inspector": "1"],
                json: ["url": .string(other.url + "/api/state")]))
        #expect(try await sent.body.json()["status"] == 200)
        let records = try await get(service.url + "/api/records").body.json()["records"]
        #expect(records?[0]?["path"] == "/api/state" && records?.arrayValue?.count == 1)
        #expect(await service.stop() == 0)
        #expect(await other.stop() == 0)
    }

    @Test func `a file of records is shown, and requests from the page are stored in it`() async throws {
        let folder = try TemporaryFolder()
        let path = folder.file("records.sqlite")
        let storage = try SQLiteRecordStorage(path: path)
        var record = Record(HTTPRequest(method: .get, url: "http://a.example/recorded"))
        record.result = .success(Response(status: 418))
        await storage.store(record)
        await storage.close()
        let service = try await SoukService(["inspect", "--records", path])
        let records = try await get(service.url + "/api/records").body.json()["records"]
        #expect(records?[0]?["path"] == "/recorded" && records?[0]?["status"] == 418)
        _ = try await transport.send(
            HTTPRequest(
                method: .post, url: service.url + "/api/requests", headers: ["X-Souk-Inspector": "1"],
                json: ["url": .string(service.url + "/api/state")]))
        #expect(await service.stop() == 0)
        let after = try SQLiteRecordStorage(path: path)
        #expect(await after.records(10, after: nil).map(\.originalRequest.path) == ["/api/state", "/recorded"])
        await after.close()
    }

    @Test func `records of another process appear on the page`() async throws {
        let folder = try TemporaryFolder()
        let path = folder.file("records.sqlite")
        let storage = try SQLiteRecordStorage(path: path)
        let service = try await SoukService(["inspect", "--records", path])
        let updates = try await get(service.url + "/api/updates")
        guard case .stream(let stream) = updates.body else { throw HTTPError(.protocolError, "This is no stream.") }
        await storage.store(Record(HTTPRequest(method: .get, url: "http://a.example/recorded")))
        var received = ""
        while !received.contains("/recorded"), let piece = try await stream.next() {
            received += String(decoding: piece, as: UTF8.self)
        }
        #expect(received.contains("event: changes"))
        #expect(await service.stop() == 0)
        await storage.close()
    }

    @Test func `a HAR is shown without its secrets`() async throws {
        let folder = try TemporaryFolder()
        let record = Record(HTTPRequest(method: .get, url: "http://a.example/1", headers: ["Cookie": "sesame"]))
        var options = HARDocument.ExportOptions()
        options.redaction = .none
        let file = try folder.write("browser.har", HARDocument([record], options: options).encoded())
        let service = try await SoukService(["inspect", "--records", file])
        let list = try await get(service.url + "/api/records").body.json()
        let id = try #require(list["records"]?[0]?["id"]?.stringValue)
        let text = try await get(service.url + "/api/records/" + id).body.json().text()
        #expect(text.contains("Cookie") && !text.contains("sesame"))
        #expect(await service.stop() == 0)
    }

    @Test(arguments: ["/nowhere.sqlite", TestFiles.darkroom])
    func `the usage error for a missing file or a file of another format names the file`(path: String) async throws {
        let outcome = try await SoukExecutable.run(["inspect", "--records", path])
        #expect(outcome.status == 2)
        #expect(outcome.errors.contains(path) && outcome.errors.split(separator: "\n").count == 1)
        #expect(outcome.output.isEmpty)
    }

    @Test(arguments: [["inspect"], ["intercept", "--listen", "127.0.0.1:0", "--upstream", "http://127.0.0.1:9"]])
    func `the page's address is printed again when the command stops`(words: [String]) async throws {
        let child = try ChildProgram(SoukExecutable.path(), words, output: .captured, errors: .captured)
        let greeting = try JSONValue(parsing: await child.output.firstLine() ?? "")
        let address = try #require(greeting["inspector"]?.stringValue)
        child.terminate()
        #expect(await child.end() == 0)
        #expect(await child.errors.text().contains("The inspector was at \(address)"))
    }

    @Test func `inspect stops while a page waits for updates`() async throws {
        let service = try await SoukService(["inspect"])
        let updates = try await get(service.url + "/api/updates")
        #expect(updates.headers["Content-Type"] == "text/event-stream")
        #expect(await service.stop() == 0)
        _ = updates
    }

    @Test func `an inspector beyond loopback serves the page only with the token of the printed address`() async throws
    {
        let service = try await SoukService(["inspect", "--host", "0.0.0.0"])
        let address = try #require(service.greeting["inspector"]?.stringValue)
        let token = try #require(address.firstMatch(of: /\/\?token=([0-9a-f]{64})$/)).output.1
        let url = service.url.replacingOccurrences(of: "0.0.0.0", with: "127.0.0.1")
        #expect(try await get(url + "/").status == 401)
        #expect(try await get(url + "/api/records").status == 401)
        #expect(try await get(url + "/?token=" + token).status == 303)
        #expect(try await get(url + "/api/records", ["Authorization": "Bearer \(token)"]).status == 200)
        #expect(await service.stop() == 0)
    }
}
