import Foundation
import HTTPCore
import Primitives
import StoreModel
import Testing

@testable import EntitlementServer

extension ConsoleVisitor {
    /// Opens the stream by which an open page learns that its data has changed.
    func updates(_ fields: [(String, String)] = []) async throws -> HTTPBodyStream {
        var headers: HTTPHeaders = ["Host": Self.host]
        if let cookie { headers.add("Cookie", cookie) }
        let response = await bench.service.respond(
            to: HTTPRequest(method: .get, url: "/console/updates?" + HTTPQuery(fields).encoded, headers: headers)
        ).response()
        #expect(response.status == 200 && response.headers["Content-Type"] == "text/event-stream")
        guard case .stream(let stream) = response.body else { throw HTTPError(.bodyFailed, "This is no stream.") }
        return stream
    }
}

/// The streams by which open pages of the console learn that their data has changed.
@Suite(.onBothEngines) struct ConsoleUpdateTests {
    private static let ended = Array("event: ended\ndata: 1\n\n".utf8)

    private static func stamp(_ chunk: [UInt8]?) throws -> Int64 {
        let text = String(decoding: try #require(chunk), as: UTF8.self)
        return try #require(text.firstMatch(of: /data: ([0-9]+)\n\n$/).flatMap { Int64($0.output.1) }, "\(text)")
    }

    private static func stamp(in page: ServerBench.Reply) throws -> Int64 {
        try #require(page.text.firstMatch(of: /<main id="main" data-stamp="([0-9]+)"/).flatMap { Int64($0.output.1) })
    }

    /// Adds events to the feed, and facts to the figures, as the background jobs do.
    private static func runJobs(_ bench: ServerBench) async throws {
        for job in bench.service.jobs where ["figures", "feed"].contains(job.name) {
            while try await job.step() {}
        }
    }

    @Test func `a stream sends the stamp of the present page, and another one after a change`() async throws {
        let bench = try await ServerBench.withConsole()
        let visitor = try await ConsoleVisitor.signedIn(at: bench, as: .readOnly)
        let stream = try await visitor.updates()
        let figures = try await visitor.updates([("page", "figures")])
        let (first, firstFigures) = (try Self.stamp(await stream.next()), try Self.stamp(await figures.next()))
        #expect(try Self.stamp(in: await visitor.get()) == first)
        #expect(try Self.stamp(in: await visitor.get("/figures")) == firstFigures)
        _ = try await bench.post(bench.purchase("1"))
        try await Self.runJobs(bench)
        let second = try Self.stamp(await stream.next())
        #expect(second != first)
        #expect(try Self.stamp(in: await visitor.get()) == second)
        #expect(try Self.stamp(in: await visitor.customer()) == second)
        let secondFigures = try Self.stamp(await figures.next())
        #expect(secondFigures != firstFigures)
        #expect(try Self.stamp(in: await visitor.get("/figures")) == secondFigures)
        await bench.close()
    }

    @Test func `a stream ends within a second after the key of its session was revoked`() async throws {
        let bench = try await ServerBench.withConsole()
        let (id, key) = try await bench.anotherKey()
        let stream = try await ConsoleVisitor.signedIn(at: bench, key: key).updates()
        _ = try await stream.next()
        async let next = stream.next()
        await bench.realClock.waiters(atLeast: 1)
        try await APIKeys(database: bench.database).revoke(id)
        bench.realClock.advance(by: 1)
        #expect(try await next == Self.ended)
        #expect(try await stream.next() == nil)
        await bench.close()
    }

    @Test func `an open page that only updates itself does not prolong its session`() async throws {
        let bench = try await ServerBench.withConsole()
        let visitor = try await ConsoleVisitor.signedIn(at: bench)
        let stream = try await visitor.updates()
        _ = try await stream.next()
        bench.realClock.advance(by: 29 * 60)
        let update = try await visitor.get(headers: ["Souk-Update": "1"])
        #expect(update.status == 200 && update.headers["Set-Cookie"] == nil)
        #expect(try await visitor.get().headers["Set-Cookie"] != nil)
        async let next = stream.next()
        await bench.realClock.waiters(atLeast: 1)
        bench.realClock.advance(by: 61)
        #expect(try await next == Self.ended)
        #expect(try await visitor.get(headers: ["Souk-Update": "1"]).status == 303)
        await bench.close()
    }

    @Test func `the response to a form has no script`() async throws {
        let bench = try await ServerBench.withConsole()
        _ = try await bench.post(bench.purchase("1"))
        let visitor = try await ConsoleVisitor.signedIn(at: bench)
        let review = try await visitor.submit("/exports/review", [("id", "anna")])
        #expect(review.status == 200 && !review.text.contains("<script"))
        #expect(review.headers["Content-Security-Policy"]?.contains("script-src") == false)
        await bench.close()
    }
}
