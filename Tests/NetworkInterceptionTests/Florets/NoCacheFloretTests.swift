import HTTPCore
import NetworkInterception
import Testing

@Suite struct NoCacheFloretTests {
    @Test func `a request bypasses caches, regardless of the case of its headers`() async throws {
        let scene = FloretScene([NoCacheFloret()])
        try await scene.send(
            headers: [
                "if-modified-since": "Sat, 21 Nov 2026 07:28:00 GMT", "IF-NONE-MATCH": "\"1\"",
                "cache-control": "max-age=60", "Accept": "*/*",
            ])
        let headers = try #require(scene.last).headers
        #expect(headers["If-Modified-Since"] == nil && headers["If-None-Match"] == nil)
        #expect(headers.values("Cache-Control") == ["no-cache"] && headers["Pragma"] == "no-cache")
        #expect(headers["Accept"] == "*/*")
    }

    @Test func `an answer loses its cache headers, and the rest is unchanged`() async throws {
        let scene = FloretScene([NoCacheFloret()]) { _ in
            Response(
                status: 206,
                headers: ["last-modified": "today", "etag": "\"1\"", "Cache-Control": "public", "X-Own": "1"],
                body: .text("whole"))
        }
        let answer = try await scene.send()
        #expect(answer.headers["Last-Modified"] == nil && answer.headers["ETag"] == nil)
        #expect(answer.headers["Expires"] == "0" && answer.headers.values("Cache-Control") == ["no-cache"])
        #expect(answer.headers["X-Own"] == "1" && answer.status == 206)
        #expect(try await answer.body.text() == "whole")
    }

    @Test func `the app never gets 304`() async throws {
        let honest = FloretScene([NoCacheFloret()]) { request in
            request.headers["If-None-Match"] == nil
                ? Response(status: 200, body: .text("new")) : Response(status: 304)
        }
        #expect(try await honest.send(headers: ["If-None-Match": "\"1\""]).status == 200)
        let broken = FloretScene([NoCacheFloret()]) { _ in Response(status: 304) }
        await #expect(throws: HTTPError(.protocolError, "")) { try await broken.send() }
    }

    @Test func `a disabled floret changes nothing`() async throws {
        let floret = NoCacheFloret(enabled: false)
        let scene = FloretScene([floret]) { _ in Response(status: 304, headers: ["ETag": "1"]) }
        let answer = try await scene.send(headers: ["If-None-Match": "1"])
        #expect(answer.status == 304 && answer.headers["ETag"] == "1")
        floret.enabled = true
        await #expect(throws: HTTPError.self) { try await scene.send() }
    }
}
