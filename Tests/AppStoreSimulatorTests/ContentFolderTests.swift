import Foundation
import HTTPCore
import NetworkTestSupport
import Primitives
import Testing

@testable import AppStoreSimulator

/// The files of `--content`, requested over a real socket.
struct ContentFolderTests {
    /// Creates a folder with files, and with entries that must not be served.
    private func folder() throws -> ScratchFolder {
        let scratch = try ScratchFolder()
        let files = FileManager.default
        for name in ["content/packs", "outside"] {
            try files.createDirectory(atPath: "\(scratch.path)/\(name)", withIntermediateDirectories: true)
        }
        try Data((0..<200_000).map { UInt8($0 % 251) }).write(to: scratch.file("content/packs/film.zip"))
        try Data("{}".utf8).write(to: scratch.file("content/a b.json"))
        try Data().write(to: scratch.file("content/empty.txt"))
        try Data("secret".utf8).write(to: scratch.file("outside/secret.txt"))
        try Data("secret".utf8).write(to: scratch.file("content-beside"))
        for (link, target) in [
            ("inside.zip", "packs/film.zip"), ("out.txt", "../outside/secret.txt"), ("out", "../outside"),
            ("beside", "../content-beside"), ("loop", "loop"), ("nowhere", "missing"),
        ] {
            try files.createSymbolicLink(atPath: "\(scratch.path)/content/\(link)", withDestinationPath: target)
        }
        #expect(mkfifo("\(scratch.path)/content/pipe", 0o600) == 0)
        return scratch
    }

    private func with(
        _ body: (@Sendable (HTTPRequest.Method, String, HTTPHeaders) async throws -> HTTPResponse) async throws -> Void
    ) async throws {
        let scratch = try folder()
        try await withLoopbackServer(try ContentFolder(scratch.path + "/content")) { url in
            let transport = loopbackTransport()
            try await body { method, path, headers in
                try await transport.send(HTTPRequest(method: method, url: url + path, headers: headers))
            }
        }
    }

    @Test func `the response has the whole file, with its type, version and date`() async throws {
        try await with { send in
            let answer = try await send(.get, "/content/packs/film.zip", [:])
            let bytes = try await answer.body.collect(upTo: 1 << 20)
            #expect(answer.status == 200 && bytes == (0..<200_000).map { UInt8($0 % 251) })
            #expect(answer.headers["Content-Type"] == "application/zip" && answer.headers["Accept-Ranges"] == "bytes")
            #expect(answer.headers["ETag"]?.hasPrefix("\"") == true)
            #expect(answer.headers["Last-Modified"].flatMap(HTTPDate.seconds) != nil)
            let named = try await send(.get, "/content/a%20b.json", [:])
            #expect(named.status == 200 && named.headers["Content-Type"] == "application/json")
            let linked = try await send(.get, "/content/inside.zip?version=2", ["Range": "bytes=0-0"])
            #expect(linked.status == 206)
            let empty = try await send(.get, "/content/empty.txt", [:])
            #expect(empty.status == 200)
            #expect(try await empty.body.collect(upTo: 10).isEmpty)
            let head = try await send(.head, "/content/packs/film.zip", [:])
            #expect(head.status == 200 && head.headers["Content-Length"] == "200000")
            #expect(try await head.body.collect(upTo: 10).isEmpty)
        }
    }

    @Test(
        arguments: [
            ("bytes=0-9", 206, 0..<10, "bytes 0-9/200000"), ("bytes=199990-", 206, 199_990..<200_000, nil),
            ("bytes=-5", 206, 199_995..<200_000, nil),
            ("bytes=100000-999999999999999999999", 206, 100_000..<200_000, nil),
            ("bytes=-300000", 206, 0..<200_000, nil), ("bytes=200000-", 416, nil, "bytes */200000"),
            ("bytes=-0", 416, nil, "bytes */200000"), ("bytes=9-0", 200, 0..<200_000, nil),
            ("bytes=0-1,5-6", 200, 0..<200_000, nil), ("items=0-1", 200, 0..<200_000, nil),
            ("bytes=a-b", 200, 0..<200_000, nil), ("bytes=-", 200, 0..<200_000, nil),
        ] as [(String, Int, Range<Int>?, String?)])
    func `a range gets only its bytes, one beyond the end gets 416, and a malformed one gets the whole file`(
        range: String, status: Int, bytes: Range<Int>?, contentRange: String?
    ) async throws {
        try await with { send in
            let answer = try await send(.get, "/content/packs/film.zip", ["Range": range])
            #expect(answer.status == status)
            if let contentRange { #expect(answer.headers["Content-Range"] == contentRange) }
            if status == 200 { #expect(answer.headers["Content-Range"] == nil) }
            guard let bytes else { return }
            #expect(try await answer.body.collect(upTo: 1 << 20) == bytes.map { UInt8($0 % 251) })
        }
    }

    @Test func `a client with the current version gets 304, and a range of another version gets the whole file`()
        async throws
    {
        try await with { send in
            let first = try await send(.get, "/content/packs/film.zip", [:])
            let (tag, date) = try (#require(first.headers["ETag"]), #require(first.headers["Last-Modified"]))
            let path = "/content/packs/film.zip"
            for headers: HTTPHeaders in [
                ["If-None-Match": tag], ["If-None-Match": "\"x\", W/\(tag)"], ["If-None-Match": "*"],
                ["If-Modified-Since": date],
            ] {
                let answer = try await send(.get, path, headers)
                #expect(answer.status == 304 && answer.headers["ETag"] == tag)
            }
            for headers: HTTPHeaders in [
                ["If-None-Match": "\"x\""], ["If-None-Match": "\"x\"", "If-Modified-Since": date],
                ["If-Modified-Since": "Thu, 01 Jan 1970 00:00:00 GMT"], ["If-Modified-Since": "yesterday"],
                ["Range": "bytes=0-1", "If-Range": "\"x\""], ["Range": "bytes=0-1", "If-Range": "W/\(tag)"],
            ] {
                #expect(try await send(.get, path, headers).status == 200)
            }
            for version in [tag, date] {
                #expect(try await send(.get, path, ["Range": "bytes=0-1", "If-Range": version]).status == 206)
            }
        }
    }

    @Test(arguments: [
        "/content/../outside/secret.txt", "/content/%2e%2e/outside/secret.txt", "/content/..%2foutside%2fsecret.txt",
        "/content/packs/../a%20b.json", "/content/./empty.txt", "/content//empty.txt", "/content/empty.txt/",
        "/content/empty.txt%00.zip", "/content/out.txt", "/content/out/secret.txt", "/content/beside", "/content/loop",
        "/content/nowhere", "/content/pipe", "/content/packs", "/content/packs/", "/content/", "/content",
        "/content/missing", "/content/%FF", "/content/%", "/content/%2Fetc%2Fpasswd", "/other",
        "/content/\(String(repeating: "a", count: 300))",
    ])
    func `a path that does not lead to a file in the folder is not found`(path: String) async throws {
        let scratch = try folder()
        let content = try ContentFolder(scratch.path + "/content")
        let answer = await content.respond(to: HTTPRequest(method: .get, url: path)).response()
        #expect(answer.status == 404, "\(path)")
        #expect(try await answer.body.json()["code"] == "not_found")
    }

    @Test func `content is served for GET and HEAD only`() async throws {
        try await with { send in
            for method: HTTPRequest.Method in [.post, .put, .delete, .patch] {
                let answer = try await send(method, "/content/empty.txt", [:])
                #expect(answer.status == 405 && answer.headers["Allow"] == "GET, HEAD")
            }
        }
    }

    @Test func `a store serves its content beside its APIs`() async throws {
        let scratch = try folder()
        let content = try ContentFolder(scratch.path + "/content")
        try await TestStore.with(change: { $0.content = content }) { test in
            let handler = test.store.handler
            func status(_ path: String) async -> Int {
                await handler.respond(to: HTTPRequest(method: .get, url: path)).response().status
            }
            #expect(await status("/content/empty.txt") == 200)
            #expect(await status("/control/v1/clock") == 200)
            #expect(await status("/contents") == 404)
        }
        try await TestStore.with { test in
            let request = HTTPRequest(method: .get, url: "/content/empty.txt")
            #expect(await test.store.handler.respond(to: request).response().status == 404)
        }
    }

    @Test func `a changed file has another version`() throws {
        let scratch = try folder()
        let path = scratch.path + "/content"
        let before = try #require(ServedFile(opening: "empty.txt", in: path)?.entityTag)
        try Data("more".utf8).write(to: scratch.file("content/empty.txt"))
        #expect(try #require(ServedFile(opening: "empty.txt", in: path)).entityTag != before)
    }

    @Test func `the error names a path that is not a folder`() throws {
        let scratch = try folder()
        for name in ["missing", "content/empty.txt"] {
            let error = #expect(throws: SimulatorError.self) { try ContentFolder("\(scratch.path)/\(name)") }
            #expect(error?.code == .dataFolder && error?.reason.contains(name) == true)
        }
    }

    @Test(
        arguments: [
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"), (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
            (951_827_696, "Tue, 29 Feb 2000 12:34:56 GMT"),
        ] as [(Int64, String)])
    func `dates are written and read in the format of HTTP`(seconds: Int64, text: String) {
        #expect(HTTPDate.text(of: seconds) == text && HTTPDate.seconds(text) == seconds)
        #expect(HTTPDate.seconds("Sunday, 06-Nov-94 08:49:37 GMT") == nil)
    }

    @Test(arguments: [
        ("a.ZIP", "application/zip"), ("a/b.html", "text/html; charset=utf-8"),
        ("noextension", "application/octet-stream"),
        ("a.b/c", "application/octet-stream"), ("x.unknown", "application/octet-stream"),
    ])
    func `the media type is that of the file name's extension`(name: String, type: String) {
        #expect(ContentType.ofFile(named: name) == type)
    }
}

extension ScratchFolder {
    fileprivate func file(_ name: String) -> URL { URL(fileURLWithPath: "\(path)/\(name)") }
}
