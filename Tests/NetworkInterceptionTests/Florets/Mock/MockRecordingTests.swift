import Foundation
import HTTPCore
import NetworkInterception
import Primitives
import Testing

/// What is recorded with one eye on how it will be asked for.
@Suite struct MockRecordingTests {
    @Test func `a recorder before other florets records what it was asked, not what they sent`() async throws {
        let folder = try ScratchFolder()
        func scene(_ mode: MockFloret.Mode) throws -> FloretScene {
            FloretScene([
                try MockFloret(mode, folder: folder.path), NoCacheFloret(),
                MapRemoteFloret([.init("away", from: .init(host: "a.example"), to: .init(host: "b.example"))]),
            ])
        }
        let recording = try scene(.record)
        _ = try await recording.send(.put, "http://a.example/x", body: .pieces("o", "ne")).body.text()
        let replaying = try scene(.mock(forced: true))
        #expect(try await replaying.send(.put, "http://a.example/x").body.text() == "one")
        #expect(replaying.last == nil)
        #expect(try folder.text(folder.files()[0]).contains("http://a.example/x"))
    }

    @Test func `requests that count as one are answered in the order they were recorded, whatever their folders`()
        async throws
    {
        let folder = try ScratchFolder()
        for (name, second, item) in [("c", 1, 7), ("a", 2, 8), ("b", 3, 9)] {
            try folder.write(
                "\(name)/0001.json",
                #"{"format":"souk.mock.1","recorded":"2026-03-01T14:00:0\#(second)Z","request":{"method":"GET","url":"http://a/?t=\#(item)"},"answer":{"text":"\#(second)"}}"#
            )
        }
        var configuration = MockFloret.Configuration.standard
        configuration.matching.ignoredQueryItems = ["t"]
        let scene = FloretScene([
            try MockFloret(.mock(forced: true), folder: folder.path, configuration: configuration)
        ])
        for answer in ["1", "2", "3", "3"] {
            #expect(try await scene.send(.get, "http://a/?t=5").body.text() == answer)
        }
    }

    @Test func `a time that is none is refused with its place`() throws {
        let folder = try ScratchFolder()
        try folder.write(
            "a/0001.json",
            #"{"format":"souk.mock.1","recorded":"today","request":{"method":"GET","url":"u"},"answer":{}}"#)
        let error = #expect(throws: InterceptionError.self) { try MockFloret(folder: folder.path) }
        #expect(error?.reason.hasSuffix("a/0001.json: /recorded must be a date and time (RFC 3339).") == true)
    }

    // MARK: - Forms in parts

    /// With this boundary and line end.
    private func form(_ boundary: String, _ end: String = "\r\n", _ fields: (String, String)...) -> HTTPBody {
        let parts = fields.map {
            "--\(boundary)\(end)Content-Disposition: form-data; name=\"\($0.0)\"\(end)\(end)\($0.1)\(end)"
        }
        return .text(parts.joined() + "--\(boundary)--\(end)")
    }

    @Test func `a form in parts is found whatever its boundary, but for what differs or does not count`() async throws {
        var configuration = MockFloret.Configuration.standard
        configuration.matching.comparesBody = true
        configuration.matching.ignoredBodyItems = ["time"]
        let mock = MockFloret(.mock(forced: true), configuration: configuration)
        let type = "multipart/form-data; boundary="
        var record = Record(
            HTTPRequest(
                method: .post, url: "http://a.example/", headers: ["Content-Type": type + "one"],
                body: form("one", "\r\n", ("time", "1"), ("name", "anna"))))
        record.result = .success(Response(status: 201))
        try mock.replay(record)
        let scene = FloretScene([mock])
        func status(_ boundary: String, _ body: HTTPBody) async throws -> Int {
            try await scene.send(.post, headers: ["Content-Type": type + boundary], body: body).status
        }
        #expect(try await status("\"t w o\"", form("t w o", "\r\n", ("time", "2"), ("name", "anna"))) == 201)
        #expect(try await status("three; charset=utf-8", form("three", "\r\n", ("name", "anna"))) == 201)
        for body in [
            form("x", "\r\n", ("name", "berta")), form("x"), form("x", "\r\n", ("name", "anna"), ("more", "1")),
            .text("anna"),
            .text("--x\r\nContent-Disposition: form-data; name=\"name\"\r\n\r\nann"),
        ] {
            await #expect(throws: InterceptionError.self) { try await status("x", body) }
        }
        let error = await #expect(throws: InterceptionError.self) {
            try await status("x", form("x", "\r\n", ("name", "berta")))
        }
        #expect(error?.reason.contains("the part of the form \"name\" has another value") == true)
    }
}
