import BaseTestSupport
import CurlTransport
import Foundation
import HTTPCore
import NetworkInterception
import NetworkTestSupport
import Primitives
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Real sessions whose configuration has an interceptor, against a real server.
@Suite struct InterceptingURLProtocolTests {
    static let large = (0..<5_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }

    private let server = AnyHTTPHandler { request in
        switch request.path {
        case "/large": .ready(HTTPResponse(status: 200, headers: ["ETag": "\"1\""], body: .bytes(large)))
        case "/moved", "/circle", "/see", "/keep":
            .ready(
                HTTPResponse(
                    status: ["/see": 303, "/keep": 307][request.path] ?? 302,
                    headers: ["Location": request.path == "/circle" ? "/circle" : "/echo"], body: .text("moved")))
        case "/login":
            .ready(HTTPResponse(status: 401, headers: ["WWW-Authenticate": "Basic realm=\"r\""], body: .text("who")))
        case "/never":
            .suspended {
                _ = try? await untilCancelled()
                return HTTPResponse(status: 200)
            }
        default:
            .ready(
                HTTPResponse(
                    status: 200, headers: ["X-Method": request.method.rawValue, "X-Target": request.url],
                    body: request.body))
        }
    }

    private func withSession<Value>(
        _ florets: [any Floret] = [], over transport: (any HTTPTransport)? = nil,
        delegate: (any URLSessionDelegate)? = nil,
        _ change: (URLSessionConfiguration) -> Void = { _ in },
        _ body: (URLSession, URL, Interceptor) async throws -> Value
    ) async throws -> Value {
        try await withLoopbackServer(server, stopGracePeriod: .milliseconds(50)) { address in
            let configuration = URLSessionConfiguration.ephemeral
            change(configuration)
            let interceptor = Interceptor.running(florets)
            interceptor.install(in: configuration, over: transport)
            let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
            defer { session.invalidateAndCancel() }
            return try await body(session, try #require(URL(string: address)), interceptor)
        }
    }

    private func post(_ url: URL, _ path: String) -> URLRequest {
        var request = URLRequest(url: url.appendingPathComponent(path))
        request.httpMethod = "POST"
        return request
    }

    @Test(arguments: [false, true])
    func `a large response is delivered completely and recorded`(_ isCurl: Bool) async throws {
        try await withSession(over: isCurl ? CurlTransport() : nil) { session, url, interceptor in
            let (data, response) = try await session.data(from: url.appendingPathComponent("large"))
            #expect(data == Data(Self.large))
            #expect((response as? HTTPURLResponse)?.value(forHTTPHeaderField: "ETag") == "\"1\"")
            await interceptor.settled()
            let record = try #require(await interceptor.records.first)
            #expect(record.bodies.response == .init(byteCount: 5_000_000, isCut: true))
        }
    }

    @Test func `a completion handler gets the whole body at once, and a delegate gets its chunks`() async throws {
        final class Reader: NSObject, URLSessionDataDelegate {
            let pieces = Locked<[Data]>([])
            let end = Gate()
            func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
                pieces.withLock { $0.append(data) }
            }
            func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
                #expect(error == nil)
                end.open()
            }
        }
        let reader = Reader()
        try await withSession(delegate: reader) { session, url, _ in
            let whole = Locked(Data())
            let hasArrived = Gate()
            session.dataTask(with: url.appendingPathComponent("large")) { data, _, error in
                #expect(error == nil)
                whole.withLock { $0 = data ?? Data() }
                hasArrived.open()
            }.resume()
            await hasArrived.wait()
            #expect(whole.withLock { $0 } == Data(Self.large))
            #expect(reader.pieces.withLock { $0.isEmpty })
            session.dataTask(with: url.appendingPathComponent("large")).resume()
            await reader.end.wait()
            let pieces = reader.pieces.withLock { $0 }
            #expect(pieces.count > 1)
            #expect(pieces.reduce(Data(), +) == Data(Self.large))
        }
    }

    @Test func `uploads from memory, files and streams arrive byte for byte`() async throws {
        let body = Data(Self.large[..<300_000])
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try body.write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        try await withSession { session, url, interceptor in
            var request = post(url, "echo")
            let (bytes, _) = try await session.upload(for: request, from: body)
            #expect(bytes == body)
            let (fromFile, _) = try await session.upload(for: request, fromFile: file)
            #expect(fromFile == body)
            request.httpBody = body
            let (inRequest, _) = try await session.data(for: request)
            #expect(inRequest == body)
            request.httpBody = nil
            request.httpBodyStream = InputStream(data: body)
            let (streamed, _) = try await session.data(for: request)
            #expect(streamed == body)
            await interceptor.settled()
            let records = await interceptor.records
            #expect(records.count == 4)
            #expect(records.allSatisfy { $0.bodies.designated?.byteCount == 300_000 })
        }
    }

    @Test func `redirects are followed with the right method, and each is a record`() async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try Data("again".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        try await withSession { session, url, interceptor in
            let (moved, answer) = try await session.upload(for: post(url, "moved"), from: Data("once".utf8))
            #expect(moved.isEmpty)
            #expect((answer as? HTTPURLResponse)?.value(forHTTPHeaderField: "X-Method") == "GET")
            #expect(answer.url?.path == "/echo")
            #expect(await interceptor.records.map(\.response?.status) == [200, 302])
            let (kept, again) = try await session.upload(for: post(url, "keep"), fromFile: file)
            #expect(kept == Data("again".utf8))
            #expect((again as? HTTPURLResponse)?.value(forHTTPHeaderField: "X-Method") == "POST")
            let error = await #expect(throws: URLError.self) {
                try await session.data(from: url.appendingPathComponent("circle"))
            }
            #expect(error?.code == .httpTooManyRedirects)
        }
    }

    @Test func `the response of a challenge reaches the app if there is no credential`() async throws {
        try await withSession { session, url, interceptor in
            let (data, response) = try await session.data(from: url.appendingPathComponent("login"))
            #expect((response as? HTTPURLResponse)?.statusCode == 401)
            #expect(data == Data("who".utf8))
            let record = try #require(await interceptor.records.first)
            #expect(record.response?.headers["WWW-Authenticate"] == "Basic realm=\"r\"")
        }
    }

    @Test func `florets change, answer and fail the requests of a session`() async throws {
        let floret = Probe(before: { record in
            switch record.originalRequest.path {
            case "/answered": record.result = .success(Response(status: 418, body: .text("teapot")))
            case "/failed": record.result = .failure(HTTPError(.hostNotFound, "no"))
            default: record.designatedRequest.url = record.originalRequest.url.replacing("/a", with: "/b")
            }
        })
        try await withSession([floret]) { session, url, _ in
            let (_, changed) = try await session.data(from: url.appendingPathComponent("a"))
            #expect((changed as? HTTPURLResponse)?.value(forHTTPHeaderField: "X-Target") == "/b")
            let (data, answered) = try await session.data(from: url.appendingPathComponent("answered"))
            #expect((answered as? HTTPURLResponse)?.statusCode == 418)
            #expect(data == Data("teapot".utf8))
            let error = await #expect(throws: URLError.self) {
                try await session.data(from: url.appendingPathComponent("failed"))
            }
            #expect(error?.code == .cannotFindHost)
        }
    }

    @Test func `headers of the configuration are sent and recorded`() async throws {
        try await withSession {
            $0.httpAdditionalHeaders = ["X-App": "souk"]
        } _: { session, url, interceptor in
            _ = try await session.data(from: url)
            #expect(await interceptor.records.first?.originalRequest.headers["X-App"] == "souk")
        }
    }

    @Test(arguments: [false, true])
    func `a cancelled task ends as cancelled, in the network and in a floret`(_ isInFloret: Bool) async throws {
        let hasArrived = Gate()
        let floret = Probe(before: { _ in
            hasArrived.open()
            if isInFloret { _ = try? await untilCancelled() }
        })
        try await withSession([floret]) { session, url, interceptor in
            let loading = Task { try await session.data(from: url.appendingPathComponent("never")) }
            await hasArrived.wait()
            loading.cancel()
            let error = await #expect(throws: URLError.self) { try await loading.value }
            #expect(error?.code == .cancelled)
        }
    }

    @Test func `a deadline is kept, although URLSession does not check it`() async throws {
        try await withSession {
            $0.timeoutIntervalForRequest = 0.3
        } _: { session, url, _ in
            let error = await #expect(throws: URLError.self) {
                try await session.data(from: url.appendingPathComponent("never"))
            }
            #expect(error?.code == .timedOut)
        }
    }

    @Test func `a suspended task receives nothing until it resumes`() async throws {
        let (isAsked, mayAnswer) = (Gate(), Gate())
        let floret = Probe(before: { record in
            guard record.designatedRequest.path == "/held" else { return }
            isAsked.open()
            await mayAnswer.wait()
            record.result = .success(Response(status: 200, body: .text("late")))
        })
        try await withSession([floret]) { session, url, interceptor in
            let answers = Diary()
            let hasArrived = Gate()
            let task = session.dataTask(with: url.appendingPathComponent("held")) { data, _, _ in
                answers.write(String(decoding: data ?? Data(), as: UTF8.self))
                hasArrived.open()
            }
            task.resume()
            await isAsked.wait()
            task.suspend()
            mayAnswer.open()
            try await until("the request ended") {
                await interceptor.records.contains {
                    $0.originalRequest.path == "/held" && $0.timing.ended != nil
                }
            }
            // A session calls its tasks serially, so all earlier calls precede these responses.
            for _ in 0..<3 { _ = try await session.data(from: url.appendingPathComponent("other")) }
            #expect(answers.all.isEmpty)
            task.resume()
            await hasArrived.wait()
            #expect(answers.all == ["late"])
        }
    }

    #if !canImport(Darwin)
        @Test func `a task whose cancellation is reported after its end ends once`() async throws {
            let (hasArrived, mayAnswer) = (Gate(), Gate())
            let floret = Probe(before: { record in
                guard record.designatedRequest.path == "/late" else { return }
                hasArrived.open()
                await mayAnswer.wait()
                record.result = .success(Response(status: 200, body: .text("late")))
            })
            try await withSession([floret]) { session, url, _ in
                let (answers, answer) = AsyncStream.makeStream(of: Data?.self)
                let task = session.dataTask(with: url.appendingPathComponent("late")) { data, _, _ in
                    answer.yield(data)
                }
                task.resume()
                await hasArrived.wait()
                // Foundation keeps this object while it cancels a task.
                let urlProtocol = try #require(stored("_protocolStorage", in: task) as? URLProtocol)
                let queue = try #require(stored("workQueue", in: task) as? DispatchQueue)
                mayAnswer.open()
                #expect(await answers.first { _ in true } == Data("late".utf8))
                _ = try await session.data(from: url.appendingPathComponent("other"))
                queue.sync {
                    urlProtocol.stopLoading()
                    urlProtocol.client?.urlProtocol(urlProtocol, didFailWithError: URLError(.cancelled))
                }
            }
        }

        /// The stored property of `object` or its superclasses with this name, or the associated value of an
        /// enumeration case.
        private func stored(_ name: String, in object: Any) -> Any? {
            let mirrors = sequence(first: Mirror(reflecting: object), next: \.superclassMirror)
            guard let found = mirrors.lazy.flatMap(\.children).first(where: { $0.label == name })?.value else {
                return nil
            }
            let mirror = Mirror(reflecting: found)
            return mirror.displayStyle == .enum ? mirror.children.first?.value : found
        }

        @Test func `a download task is refused with a sentence, and works while the interceptor pauses`() async throws {
            try await withSession { session, url, interceptor in
                let error = await #expect(throws: InterceptionError.self) { try await session.download(from: url) }
                #expect(error?.code == .unsupported)
                interceptor.pause()
                let (file, _) = try await session.download(from: url)
                try? FileManager.default.removeItem(at: file)
            }
        }
    #endif

    @Test func `one line before the creation of a session installs an interceptor`() async throws {
        try await withLoopbackServer(server) { address in
            let interceptor = Interceptor.running([])
            let configuration = URLSessionConfiguration.default
            interceptor.install(in: configuration)
            let session = URLSession(configuration: configuration)
            _ = try await session.data(from: try #require(URL(string: address)))
            #expect(await interceptor.records.count == 1)
        }
    }

    @Test func `interceptors of two sessions never see each other's traffic`() async throws {
        try await withSession { one, url, first in
            try await withSession { two, other, second in
                _ = try await one.data(from: url.appendingPathComponent("one"))
                _ = try await two.data(from: other.appendingPathComponent("two"))
                _ = try await URLSession(configuration: .ephemeral).data(from: url.appendingPathComponent("three"))
                #expect(await first.records.map(\.originalRequest.path) == ["/one"])
                #expect(await second.records.map(\.originalRequest.path) == ["/two"])
            }
        }
    }

    @Test func `the last installed interceptor of a session runs first`() async throws {
        let outer = Interceptor.running([Probe(before: { $0.designatedRequest.url += "/outer" })])
        try await withSession([Probe(before: { $0.designatedRequest.url += "/inner" })]) { _, url, inner in
            let configuration = URLSessionConfiguration.ephemeral
            inner.install(in: configuration)
            outer.install(in: configuration)
            outer.install(in: configuration)
            let session = URLSession(configuration: configuration)
            let (_, response) = try await session.data(from: url.appendingPathComponent("a"))
            #expect((response as? HTTPURLResponse)?.value(forHTTPHeaderField: "X-Target") == "/a/outer/inner")
            #expect(await outer.records.count == 1)
            #expect(await inner.records.first?.originalRequest.path == "/a/outer")
        }
    }

    @Test func `a session works if its interceptor pauses or was released`() async throws {
        try await withSession { session, url, interceptor in
            interceptor.pause()
            _ = try await session.data(from: url)
            #expect(await interceptor.records.isEmpty)
            let configuration = URLSessionConfiguration.ephemeral
            Interceptor.running([]).install(in: configuration)
            let (_, response) = try await URLSession(configuration: configuration).data(from: url)
            #expect((response as? HTTPURLResponse)?.statusCode == 200)
        }
    }

    @Test func `a thousand concurrent tasks each get their own answer`() async throws {
        try await withSession([Probe()]) { session, url, interceptor in
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for number in 0..<1000 {
                    group.addTask {
                        let body = Data("body \(number)".utf8)
                        let (data, _) = try await session.upload(for: self.post(url, "\(number)"), from: body)
                        return data == body
                    }
                }
                for try await isOwn in group { #expect(isOwn) }
            }
            await interceptor.settled()
            #expect(await interceptor.records.count == 1000)
        }
    }

    /// A transport that reports on its release whether another thread could install an interceptor at that time.
    private final class Witness: HTTPTransport {
        let couldInstall: AsyncStream<Bool>.Continuation
        init(_ couldInstall: AsyncStream<Bool>.Continuation) { self.couldInstall = couldInstall }
        func send(_ request: HTTPRequest) async throws -> HTTPResponse { HTTPResponse(status: 200) }
        deinit {
            let installed = DispatchSemaphore(value: 0)
            Thread.detachNewThread {
                Interceptor([]).install(in: .ephemeral)
                installed.signal()
            }
            couldInstall.yield(installed.wait(timeout: .now() + 10) == .success)
        }
    }

    @Test func `the transport of a released interceptor is released outside of the lock`() async {
        let (answers, couldInstall) = AsyncStream.makeStream(of: Bool.self)
        Interceptor([]).install(in: .ephemeral, over: Witness(couldInstall))
        Interceptor([]).install(in: .ephemeral)
        #expect(await answers.first { _ in true } == true)
    }
}
