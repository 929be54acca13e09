import Foundation
import HTTPCore
import NetworkTestSupport
import Primitives
import StoreModel
import Testing

@testable import EntitlementServer

/// One event as a listener parses it.
struct ReceivedEvent: Equatable {
    var id: String?
    var type: String?
    var data: JSONValue = .null

    /// Parses the lines of one block; `nil` for a block without data, such as a comment.
    init?(block: Substring) {
        for line in block.split(separator: "\n") {
            guard let colon = line.firstIndex(of: ":") else { return nil }
            let value = String(line[line.index(after: colon)...].drop { $0 == " " })
            switch line[..<colon] {
            case "id": id = value
            case "event": type = value
            case "data": data = (try? JSONValue(parsing: value)) ?? .null
            default: break
            }
        }
        guard data != .null else { return nil }
    }

    var features: [String]? { data["data"]?["features"]?.arrayValue?.compactMap { $0["name"]?.stringValue } }
}

/// A listener of `/v1/events` in this process.
final class EventListener: Sendable {
    let stream: HTTPBodyStream

    init(
        _ bench: ServerBench, of app: BundleID = ServerBench.app, by key: String? = nil, after id: String? = nil,
        environment: String = "sandbox", token: String? = nil
    ) async throws {
        let key = try key ?? #require(bench.keys[app]).secretKey
        var headers: HTTPHeaders = ["Authorization": "Bearer \(key)", "Souk-Environment": environment]
        if let token { headers.add("Souk-Customer-Token", token) }
        if let id { headers.add("Last-Event-ID", id) }
        let response = await bench.service.respond(
            to: HTTPRequest(method: .get, url: "/v1/events", headers: headers)
        ).response()
        #expect(response.status == 200 && response.headers["Content-Type"] == "text/event-stream")
        guard case .stream(let stream) = response.body else { throw HTTPError(.bodyFailed, "This is no stream.") }
        self.stream = stream
        let greeting = try await block()
        #expect(greeting.hasPrefix("retry: "))
    }

    /// Returns the next block, including comments.
    func block() async throws -> String {
        String(decoding: try await stream.next() ?? [], as: UTF8.self)
    }

    /// Returns the next events: at least `count`, or fewer if the stream ends.
    func events(_ count: Int) async throws -> [ReceivedEvent] {
        var heard: [ReceivedEvent] = []
        while heard.count < count, let chunk = try await stream.next() {
            heard += String(decoding: chunk, as: UTF8.self).split(separator: "\n\n").compactMap(ReceivedEvent.init)
        }
        return heard
    }
}

@Suite struct EventStreamTests {
    @Test func `a change is sent with the new answer`() async throws {
        let bench = try await ServerBench()
        let listener = try await EventListener(bench)
        _ = try await bench.post(bench.purchase("1"))
        let event = try #require(try await listener.events(1).first)
        #expect(event.type == "customer.updated" && event.data["type"] == "customer.updated")
        #expect(event.data["id"]?.stringValue == event.id && event.data["app"] == "com.example.darkroom")
        #expect(event.data["environment"] == "sandbox")
        #expect(event.data["createdAt"] == .string(RFC3339.string(from: bench.clock.now())))
        #expect(
            try event.data["data"]?.encoded() == bench.database.read { try $0.first("SELECT body FROM event")?["body"] }
        )
        #expect(event.data["data"]?["customer"] == "anna" && event.features == ["tools"])
        await bench.close()
    }

    @Test func `a listener that reconnects gets missed events, and then new ones`() async throws {
        let bench = try await ServerBench()
        for id in ["1", "2", "3"] { _ = try await bench.post(bench.purchase(id, product: "p\(id)")) }
        let first = try #require(try await EventListener(bench, after: "0").events(1).first)
        let listener = try await EventListener(bench, after: first.id)
        #expect(try await listener.events(2).map(\.features) == [["p1", "p2"], ["p1", "p2", "p3"]])
        _ = try await bench.post(bench.purchase("4", product: "p4"))
        #expect(try await listener.events(1).first?.features?.count == 4)
        await bench.close()
    }

    @Test func `a history longer than a page is sent whole and in order`() async throws {
        let bench = try await ServerBench()
        for number in 0..<230 { _ = try await bench.grant("f\(number)", to: "c\(number)") }
        let heard = try await EventListener(bench, after: "0").events(230)
        #expect(heard.compactMap { $0.data["data"]?["customer"]?.stringValue } == (0..<230).map { "c\($0)" })
        await bench.close()
    }

    @Test func `a listener without an event id gets only new events`() async throws {
        let bench = try await ServerBench()
        _ = try await bench.post(bench.purchase("1"))
        let listener = try await EventListener(bench)
        _ = try await bench.grant("pro", to: "ben")
        #expect(try await listener.events(1).first?.data["data"]?["customer"] == "ben")
        await bench.close()
    }

    @Test func `a change is an event only of its app and environment`() async throws {
        let bench = try await ServerBench(environments: [.sandbox, .production])
        let other = try await EventListener(bench, of: ServerBench.otherApp)
        let production = try await EventListener(bench, environment: "production")
        _ = try await bench.post(bench.purchase("1"))
        let heard = try await EventListener(bench, after: "0").events(1)
        #expect(heard.count == 1)
        // The first event of each other stream is a later change of the stream's own ledger.
        for (listener, app, environment) in [
            (other, ServerBench.otherApp, "sandbox"), (production, ServerBench.app, "production"),
        ] {
            let grant = try await bench.send(
                .post, "/v1/customers/ben/grants", as: .secret, of: app, headers: ["Souk-Environment": environment],
                body: .json(["feature": "extra", "reason": "support"]))
            #expect(grant.status == 201)
            let first = try #require(try await listener.events(1).first)
            #expect(first.data["app"] == .string(app.rawValue) && first.data["environment"] == .string(environment))
        }
        await bench.close()
    }

    @Test func `a repeated request changes nothing and sends no event`() async throws {
        let bench = try await ServerBench()
        let signed = try bench.purchase("1")
        for _ in 0..<3 { _ = try await bench.post(signed) }
        _ = try await bench.get("nobody")
        #expect(try bench.count("event") == 1)
        await bench.close()
    }

    @Test func `a stream without events sends comments`() async throws {
        let bench = try await ServerBench()
        let listener = try await EventListener(bench)
        async let comment = listener.block()
        await bench.realClock.waiters(atLeast: 1)
        bench.realClock.advance(by: 15)
        #expect(try await comment == ":\n\n")
        await bench.close()
    }

    @Test func `a slow listener delays no other`() async throws {
        let bench = try await ServerBench()
        let slow = try await EventListener(bench)
        let quick = try await EventListener(bench)
        for number in 0..<20 {
            _ = try await bench.grant("f\(number)")
            #expect(try await quick.events(1).count == 1)
        }
        #expect(try await slow.events(20).count == 20)
        await bench.close()
    }

    @Test(arguments: ["x", "-1", "+1", " 1", "1.5", "", "٣"]) func `an invalid event id is refused`(id: String)
        async throws
    {
        let bench = try await ServerBench()
        let reply = try await bench.send(.get, "/v1/events", as: .secret, headers: ["Last-Event-ID": id])
        #expect(reply.status == 400 && reply.field == "Last-Event-ID")
        await bench.close()
    }

    @Test func `a public key gets no events`() async throws {
        let bench = try await ServerBench()
        #expect(try await bench.send(.get, "/v1/events").code == "secret_key_required")
        await bench.close()
    }

    @Test func `old events are deleted, and a listener that missed them gets events.expired`() async throws {
        let bench = try await ServerBench()
        _ = try await bench.grant("old")
        bench.clock.advance(by: 20 * 86400)
        _ = try await bench.grant("new")
        bench.clock.advance(by: 11 * 86400)
        let job = try #require(bench.service.jobs.first { $0.name == "event retention" })
        #expect(try await job.step() == false)
        #expect(try bench.count("event") == 1)
        let response = await bench.service.respond(
            to: HTTPRequest(
                method: .get, url: "/v1/events",
                headers: [
                    "Authorization": "Bearer \(try #require(bench.keys[ServerBench.app]).secretKey)",
                    "Last-Event-ID": "1",
                ])
        ).response()
        guard case .stream(let stream) = response.body else { throw HTTPError(.bodyFailed, "This is no stream.") }
        let first = String(decoding: try await stream.next() ?? [], as: UTF8.self)
        // Event 1 is the last deleted one. A listener that has received it has missed nothing.
        #expect(!first.contains("events.expired"))
        stream.cancel()
        for _ in 0..<3 { _ = try await bench.grant("more") }
        bench.clock.advance(by: 40 * 86400)
        _ = try await job.step()
        let late = try EventStream(
            ledger: bench.service.ledger, changes: ChangeSignal(clock: bench.realClock),
            ledgerID: LedgerID(app: ServerBench.app, environment: .sandbox), after: 1, keepAliveInterval: 1,
            for: try bench.authorization())
        let greeting = String(decoding: try await late.body.next() ?? [], as: UTF8.self)
        let expiry = greeting.split(separator: "\n\n").compactMap(ReceivedEvent.init)
        #expect(expiry.map(\.type) == ["events.expired"] && expiry.first?.data["id"] == "1")
        await bench.close()
    }

    @Test func `streams end with the service, after the last events`() async throws {
        let bench = try await ServerBench()
        let listener = try await EventListener(bench)
        let running = Task { try await bench.service.run() }
        await bench.realClock.waiters(atLeast: 2)
        _ = try await bench.grant("pro")
        running.cancel()
        try await running.value
        #expect(try await listener.events(9).map(\.features) == [["pro"]])
        #expect(try await listener.stream.next() == nil)
        await bench.close()
    }

    @Test func `a stream cannot be signed, so a nonce is refused`() async throws {
        let bench = try await ServerBench { $0.signingKeys = [AnswerSigningKey(try! .generate())] }
        let reply = try await bench.send(.get, "/v1/events?nonce=n", as: .secret)
        #expect(reply.status == 400 && reply.field == "nonce")
        await bench.close()
    }

    @Test func `a listener over a socket gets events, and continues after a reconnect`() async throws {
        let bench = try await ServerBench { $0.realClock = SystemClock() }
        let running = Task { try await bench.service.run() }
        try await withLoopbackServer(bench.service) { url in
            let key = try #require(bench.keys[ServerBench.app]).secretKey
            var last: String?
            for round in 1...3 {
                var headers: HTTPHeaders = ["Authorization": "Bearer \(key)"]
                if let last { headers.add("Last-Event-ID", last) }
                let response = try await loopbackTransport().send(
                    HTTPRequest(method: .get, url: url + "/v1/events", headers: headers))
                guard case .stream(let stream) = response.body else {
                    throw HTTPError(.bodyFailed, "This is no stream.")
                }
                _ = try await stream.next()
                _ = try await bench.grant("f\(round)")
                var text = ""
                while !text.contains("\ndata: ") || !text.hasSuffix("\n\n"), let chunk = try await stream.next() {
                    text += String(decoding: chunk, as: UTF8.self)
                }
                stream.cancel()
                let heard = text.split(separator: "\n\n").compactMap(ReceivedEvent.init)
                #expect(heard.count == 1 && heard.first?.features?.count == round)
                last = heard.last?.id
            }
            running.cancel()
            try await running.value
        }
        await bench.close()
    }
}
