import BaseTestSupport
import Foundation
import HTTPCore
import HTTPListener
import HostTestSupport
import NetworkInterception
import PluginHub
import Primitives
import Testing

/// An interceptor in front of a test service, and its inspector.
struct InspectorWorld {
    /// A clock that advances by 16 milliseconds on each reading.
    final class Clock: WallClock {
        private let instant = Locked(Date(timeIntervalSince1970: 1_790_000_000))

        func now() -> Date {
            instant.withLock { instant in
                instant += 0.016
                return instant
            }
        }

        func sleep(until deadline: Date) async throws {}
    }

    /// A floret that adds a header, and sends requests for `/moved` to another server.
    final class Stamp: InterceptableFloret, DisplayableFloret {
        private let isOn: Locked<Bool>
        let stamp = Locked("seen")
        let name = "Stamp"
        let summary: String? = "Stamps what is sent"
        init(isOn: Bool = true) { self.isOn = Locked(isOn) }

        var enabled: Bool {
            get { isOn.withLock { $0 } }
            set { isOn.withLock { $0 = newValue } }
        }

        func willRequest(_ record: Record) async -> Record {
            var record = record
            record.designatedRequest.headers["X-Stamp"] = stamp.withLock { $0 }
            if record.designatedRequest.path == "/moved" { record.designatedRequest.url = "http://b.example/json?n=2" }
            return record
        }

        func view(_ interceptor: Interceptor) -> ViewDocument? {
            ViewDocument(
                title: "Stamp",
                sections: [
                    .init(rows: [
                        .field(id: "stamp", label: "Text", value: stamp.withLock { $0 }, action: .init("stamp.set"))
                    ])
                ])
        }

        func perform(_ action: ViewDocument.Action, in interceptor: Interceptor) async throws {
            guard let text = action.values["stamp"]?.stringValue, !text.isEmpty else {
                throw InterceptionError(.invalidSetting, "The text is empty.")
            }
            stamp.withLock { $0 = text }
        }
    }

    let stamp = Stamp(isOn: false)
    let interceptor: Interceptor
    let transport: any HTTPTransport
    let page: InspectorPage

    /// - Parameter isBare: Whether the interceptor has no florets.
    init(
        florets: [any Floret] = [], isBare: Bool = false,
        _ change: (inout InspectorPage.Configuration) -> Void = { _ in }
    ) {
        var configuration = Interceptor.Configuration.standard
        configuration.clock = Clock()
        configuration.storage = MemoryRecordStorage(capacity: .init(records: 20_000, bytes: 256 << 20))
        interceptor = Interceptor(isBare ? [] : [stamp] + florets, configuration: configuration)
        interceptor.run()
        transport = interceptor.transport(wrapping: InProcessTransport(Self.service))
        var settings = InspectorPage.Configuration()
        settings.transport = InProcessTransport(Self.service)
        change(&settings)
        page = InspectorPage(interceptor, configuration: settings)
    }

    /// A service that responds by the path: `/status/N` with the status N, `/bytes` with binary data, and any other
    /// path with JSON.
    static let service = AnyHTTPHandler { request in
        if request.path.hasPrefix("/status/"), let status = Int(request.path.dropFirst(8)) {
            return .ready(HTTPResponse(status: status, headers: ["X-Path": request.path]))
        }
        if request.path == "/bytes" {
            return .ready(
                HTTPResponse(
                    status: 200, headers: ["Content-Type": "image/png"],
                    body: .bytes([0x89, 0x50, 0x4E, 0x47, 0, 0xFF] + Array(repeating: 7, count: 60))))
        }
        return .suspended {
            let body = (try? await request.body.collect(upTo: 1 << 20)) ?? []
            return HTTPResponse(
                headers: ["X-Request": request.headers["X-Stamp"] ?? "none"],
                json: [
                    "products": [
                        ["id": "pro.yearly", "price": 29.90, "trial": true], ["id": "credits.10", "price": 4],
                    ],
                    "echo": .string(String(decoding: body, as: UTF8.self)), "next": nil,
                ])
        }
    }

    @discardableResult
    func send(
        _ url: String, _ method: HTTPRequest.Method = .get, headers: HTTPHeaders = [:], body: String = ""
    ) async throws -> HTTPResponse {
        try await transport.send(HTTPRequest(method: method, url: url, headers: headers, body: .text(body)))
    }

    func newest() async throws -> Record { try #require(await interceptor.storage.records(1, after: nil).first) }

    /// Sends a request of the page to the inspector.
    func ask(
        _ path: String, _ method: HTTPRequest.Method = .get, headers: HTTPHeaders = [InspectorWorld.header: "1"],
        json: JSONValue? = nil
    ) async throws -> HTTPResponse {
        try await InProcessTransport(page).send(
            HTTPRequest(
                method: method, url: "http://localhost:8080" + path, headers: headers,
                body: json.map { .json($0) } ?? .empty))
    }

    static let header = "X-Souk-Inspector"
}

extension InspectorWorld {
    /// Runs steps on the page in a browser and returns their results. Fails for errors of the page and for requests
    /// to other servers.
    func browse(
        _ steps: [JSONValue], at fragment: String = "", width: Int = 1280, height: Int = 800, scheme: String = "light"
    ) async throws -> [JSONValue] {
        let listener = HTTPListener(handler: page)
        let url = try listener.start().url
        let verdict = try await OutsideJudge.judge(
            "browser.py",
            [
                "url": .string(url + "/" + fragment), "width": .number(width), "height": .number(height),
                "scheme": .string(scheme), "steps": .array(steps),
            ])
        page.close()
        await listener.stop()
        try #require(verdict.status == 0, "\(verdict.errors) \(verdict.output)")
        let report = try #require(verdict.json)
        #expect(report["console"] == [])
        #expect(report["dialogs"] == [])
        for request in report["requests"]?.arrayValue ?? [] {
            #expect(request.stringValue?.hasPrefix(url + "/") == true, "\(request)")
        }
        return report["answers"]?.arrayValue ?? []
    }
}
