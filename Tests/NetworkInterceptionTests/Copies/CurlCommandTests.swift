import Foundation
import HTTPCore
import HostTestSupport
import NetworkInterception
import NetworkTestSupport
import Primitives
import Testing

@Suite struct CurlCommandTests {
    /// A request as the server received it.
    private struct Arrived: Sendable {
        let request: HTTPRequest
        let body: [UInt8]
    }

    /// Runs the command of a record in a shell, and returns the request that the server received.
    private func replayed(_ make: (String) -> HTTPRequest) async throws -> Arrived? {
        let arrived = Locked<Arrived?>(nil)
        let server = AnyHTTPHandler { request in
            .suspended {
                let body = (try? await request.body.collect(upTo: 1 << 22)) ?? []
                arrived.withLock { $0 = Arrived(request: request, body: body) }
                return HTTPResponse(status: 200)
            }
        }
        try await withLoopbackServer(server) { url in
            let command = CurlCommand(Record(make(url)))
            let place = TemporaryRecords()
            if let file = command.file {
                try Data(file.bytes).write(to: URL(fileURLWithPath: place.folder + "/" + file.name))
            }
            let outcome = try await OutsideJudge.run(
                "/bin/sh", ["-c", "cd '\(place.folder)' && exec \(command.text) --silent --output answer"], input: "")
            #expect(outcome.status == 0, "\(outcome.errors)")
        }
        return arrived.withLock { $0 }
    }

    @Test func `a shell that runs the command sends the same method, URL, headers and body`() async throws {
        let body = "it's \"5 $HOME `id` \\ \n ü\u{1F600} @file\n"
        let arrived = try #require(
            try await replayed { url in
                HTTPRequest(
                    method: .post, url: "\(url)/a/../b/[1]{2}?q='x'&r=$(id)",
                    headers: [
                        "X-Quote": "it's $HOME", "content-type": "text/plain", "X-Empty": "", "x-a": "1", "X-A": "2",
                    ],
                    body: .text(body))
            })
        #expect(arrived.request.method == .post)
        #expect(arrived.request.url == "/a/../b/[1]{2}?q='x'&r=$(id)")
        #expect(arrived.body == Array(body.utf8))
        let own = arrived.request.headers.fields.filter { !["host", "content-length"].contains($0.name.lowercased()) }
        #expect(
            own.map { "\($0.name): \($0.value)" } == [
                "X-Quote: it's $HOME", "content-type: text/plain", "X-Empty: ", "x-a: 1", "X-A: 2",
            ])
    }

    private static let unsafe =
        (Array(0...0x1F) + Array(0x7F...0x9F) + [0x61C, 0x200E, 0x200F] + Array(0x202A...0x202E)
        + Array(0x2066...0x2069))
        .map { String(Unicode.Scalar($0 as UInt32)!) }

    @Test(arguments: unsafe)
    func `no control character of a record is in the command`(_ sign: String) {
        for text in ["a\(sign)b", "\(sign)", "a'\(sign)'$(id)\n\(sign)\n"] {
            let record = Record(
                HTTPRequest(
                    method: .init("P\(text)"), url: "http://h/\(text)",
                    headers: ["X-\(text)": text, "X-Empty\(text)": ""],
                    body: .text(text)))
            let command = CurlCommand(record)
            #expect(!command.text.unicodeScalars.contains { Self.unsafe.contains(String($0)) }, "\(command.text)")
        }
    }

    @Test(arguments: ["a\tb", "\u{202E}a\u{2069}", "a\u{3}b", "\u{1}%s\\n'!!'\"`$(id)\u{1B}[31m$HOME1"])
    func `a shell that runs the command sends control characters of a header and a body unchanged`(text: String)
        async throws
    {
        let json = "{\n\t\"a\": \"\(text)\"\n}"
        // A listener rejects headers with control characters other than a tab.
        let value = text.utf8.contains { $0 < 0x20 && $0 != 0x09 } ? "a" : text
        for body in [json, "---\n" + json, json + "\n", json + "\u{3}\ntouch a\n"] {
            let arrived = try #require(
                try await replayed { url in
                    HTTPRequest(method: .post, url: "\(url)/", headers: ["X-A": "\(value)."], body: .text(body))
                })
            #expect(arrived.body == Array(body.utf8))
            #expect(arrived.request.headers["X-A"].map { Array($0.utf8) } == Array("\(value).".utf8))
        }
    }

    @Test(arguments: unsafe.dropFirst())
    func `a shell reads the URL and the headers of the command unchanged`(_ sign: String) async throws {
        let text = "a'\(sign)\\n%s!!\"$(id)\(sign)'"
        let record = Record(HTTPRequest(method: .get, url: "http://h/\(text)", headers: ["X-A": text, "X-B": "it's"]))
        let words = "curl() { for word; do printf '%s|' \"$word\"; done; }; "
        let outcome = try await OutsideJudge.run("/bin/sh", ["-c", words + CurlCommand(record).text], input: "")
        #expect(outcome.output.hasPrefix("--globoff|--path-as-is|--http1.1|http://h/\(text)|--header|X-A: \(text)|"))
    }

    @Test(arguments: ["GET", "HEAD", "DELETE", "PUT", "PATCH", "PURGE"])
    func `the command adds no headers to any method, apart from Host and Content-Length`(method: String) async throws {
        let arrived = try #require(try await replayed { HTTPRequest(method: .init(method), url: $0 + "/") })
        #expect(arrived.request.method.rawValue == method)
        #expect(arrived.body.isEmpty)
        let own = arrived.request.headers.fields.map { $0.name.lowercased() }.filter {
            $0 != "host" && $0 != "content-length"
        }
        #expect(own.isEmpty)
    }

    /// The kind of a body. The test's argument is not the body itself, because the test runner prints arguments.
    enum Body: CaseIterable {
        case bytesThatAreNoText, aMillionLetters, aFilesName

        var bytes: [UInt8] {
            switch self {
            case .bytesThatAreNoText: [0, 255, 10, 39]
            case .aMillionLetters: [UInt8](repeating: 97, count: 1_000_000)
            case .aFilesName: Array("@/etc/hostname".utf8)
            }
        }
    }

    @Test(arguments: Body.allCases)
    func `binary bodies, long bodies and a body that looks like a file's name arrive unchanged`(_ kind: Body)
        async throws
    {
        let body = kind.bytes
        let arrived = try #require(
            try await replayed { HTTPRequest(method: .put, url: $0 + "/", body: .bytes(body)) })
        #expect(arrived.body == body)
        #expect(!arrived.request.headers.contains("Expect"))
    }
}
