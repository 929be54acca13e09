#if !canImport(Darwin)
    import BaseTestSupport
    import Foundation
    import FoundationNetworking
    import HTTPCore
    import NetworkInterception
    import NetworkTestSupport
    import Primitives
    import Testing

    /// Challenges for a name and a password have the same effects with and without an interceptor.
    @Suite struct BasicChallengeTests {
        private typealias Answer = (URLSession.AuthChallengeDisposition, URLCredential?)

        private static let right = URLCredential(user: "anna", password: "pass:word", persistence: .none)
        private static let wrong = URLCredential(user: "anna", password: "wrong", persistence: .none)

        /// `/login` accepts anna, `/bearer` accepts no credential.
        private let server = AnyHTTPHandler { request in
            let isBearer = request.path == "/bearer"
            let expected = "Basic " + Data("anna:pass:word".utf8).base64EncodedString()
            guard isBearer || request.headers["Authorization"] != expected else {
                let body = Array("in ".utf8) + (request.body.buffered ?? [])
                return .ready(HTTPResponse(status: 200, body: .bytes(body)))
            }
            let challenge =
                isBearer ? "Bearer error=\"invalid_token\"" : "basic charset=\"UTF-8\", realm=\"a \\\"r\\\"\""
            return .ready(HTTPResponse(status: 401, headers: ["WWW-Authenticate": challenge], body: .text("who")))
        }

        private final class Delegate: NSObject, URLSessionDataDelegate {
            let diary = Diary()
            let challenges = Locked<[String]>([])
            let end = Gate()
            private let answer: @Sendable (Int) async -> Unchecked<Answer>

            /// `answer` receives the number of refused credentials.
            init(_ answer: @escaping @Sendable (Int) async -> Answer) {
                self.answer = { Unchecked(await answer($0)) }
            }

            func urlSession(
                _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
                completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
            ) {
                let (space, refusals) = (challenge.protectionSpace, challenge.previousFailureCount)
                let status = (challenge.failureResponse as? HTTPURLResponse)?.statusCode ?? 0
                challenges.withLock {
                    $0.append("\(status) \(space.protocol ?? "") \(space.host) \(space.realm ?? "") \(refusals)")
                }
                Task {
                    let (disposition, credential) = await answer(refusals).value
                    completionHandler(disposition, credential)
                }
            }

            func urlSession(
                _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
                completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
            ) {
                diary.write("head \((response as? HTTPURLResponse)?.statusCode ?? 0)")
                completionHandler(.allow)
            }

            func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
                diary.write(String(decoding: data, as: UTF8.self))
            }

            func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
                diary.write((error as? URLError)?.code == .cancelled ? "cancelled" : error == nil ? "end" : "failed")
                end.open()
            }
        }

        private func withSession(
            _ interceptors: [Interceptor], _ delegate: Delegate?, _ body: (URLSession, URL) async throws -> Void
        ) async throws {
            try await withLoopbackServer(server, stopGracePeriod: .milliseconds(50)) { address in
                let configuration = URLSessionConfiguration.ephemeral
                for interceptor in interceptors { interceptor.install(in: configuration) }
                let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
                defer { session.invalidateAndCancel() }
                try await body(session, try #require(URL(string: address + "/login")))
            }
        }

        @Test(arguments: 0...2)
        func `a delegate's credential is sent, and each attempt is a record`(interceptorCount: Int) async throws {
            let interceptors = (0..<interceptorCount).map { _ in Interceptor.running([]) }
            let delegate = Delegate { refusals in (.useCredential, refusals < 2 ? Self.wrong : Self.right) }
            try await withSession(interceptors, delegate) { session, url in
                let (data, response) = try await session.data(from: url)
                #expect((response as? HTTPURLResponse)?.statusCode == 200)
                #expect(data == Data("in ".utf8))
                let challenges = delegate.challenges.withLock { $0 }
                #expect(challenges.map { $0.last } == ["0", "1", "2"])
                #expect(challenges.allSatisfy { $0.hasPrefix("401 http 127.0.0.1 ") })
                if interceptorCount > 0 { #expect(challenges[0] == "401 http 127.0.0.1 a \"r\" 0") }
            }
            for interceptor in interceptors {
                await interceptor.settled()
                let records = await interceptor.records
                #expect(records.map(\.response?.status) == [200, 401, 401, 401])
                #expect(
                    records.map { $0.originalRequest.headers["Authorization"] } == [
                        "[redacted]", "[redacted]", "[redacted]", nil,
                    ])
            }
        }

        @Test(arguments: [false, true])
        func `a data delegate receives each response, as without an interceptor`(_ isWatched: Bool) async throws {
            let delegate = Delegate { _ in (.useCredential, Self.right) }
            try await withSession(isWatched ? [.running([])] : [], delegate) { session, url in
                session.dataTask(with: url).resume()
                await delegate.end.wait()
                #expect(delegate.diary.all == ["head 401", "who", "head 200", "in ", "end"])
            }
        }

        @Test(
            arguments: [false, true],
            [URLSession.AuthChallengeDisposition.cancelAuthenticationChallenge, .rejectProtectionSpace])
        func `a delegate that refuses ends its task as cancelled`(
            _ isWatched: Bool, _ disposition: URLSession.AuthChallengeDisposition
        ) async throws {
            let delegate = Delegate { _ in (disposition, nil) }
            try await withSession(isWatched ? [.running([])] : [], delegate) { session, url in
                let error = await #expect(throws: URLError.self) { try await session.data(from: url) }
                #expect(error?.code == .cancelled)
                session.dataTask(with: url).resume()
                await delegate.end.wait()
                #expect(delegate.diary.all == ["head 401", "who", "cancelled"])
            }
        }

        @Test(arguments: [nil, URLSession.AuthChallengeDisposition.performDefaultHandling, .useCredential])
        func `without a credential, the response 401 reaches the app`(
            _ disposition: URLSession.AuthChallengeDisposition?
        ) async throws {
            let delegate = disposition.map { disposition in Delegate { _ in (disposition, nil) } }
            try await withSession([.running([])], delegate) { session, url in
                let (data, response) = try await session.data(from: url)
                #expect((response as? HTTPURLResponse)?.statusCode == 401)
                #expect(data == Data("who".utf8))
                guard let delegate else { return }
                session.dataTask(with: url).resume()
                await delegate.end.wait()
                #expect(delegate.diary.all == ["head 401", "who", "end"])
            }
        }

        @Test func `a body is sent again with the credential, except for a stream, which was already read`()
            async throws
        {
            let delegate = Delegate { _ in (.useCredential, Self.right) }
            let interceptor = Interceptor.running([])
            try await withSession([interceptor], delegate) { session, url in
                var request = URLRequest(url: url)
                request.httpMethod = "POST"
                let (data, _) = try await session.upload(for: request, from: Data("up".utf8))
                #expect(data == Data("in up".utf8))
                request.httpBodyStream = InputStream(data: Data("once".utf8))
                let streamed = request
                let error = await #expect(throws: URLError.self) { try await session.data(for: streamed) }
                #expect(error?.code == .requestBodyStreamExhausted)
            }
        }

        @Test func `a task can be cancelled during a challenge, and a later credential is ignored`()
            async throws
        {
            let (isAsked, mayAnswer) = (Gate(), Gate())
            let delegate = Delegate { _ in
                isAsked.open()
                await mayAnswer.wait()
                return (.useCredential, Self.right)
            }
            let interceptor = Interceptor.running([])
            try await withSession([interceptor], delegate) { session, url in
                let task = session.dataTask(with: url)
                task.resume()
                await isAsked.wait()
                task.cancel()
                await delegate.end.wait()
                mayAnswer.open()
                #expect(delegate.diary.all == ["head 401", "who", "cancelled"])
            }
            // The record of a cancelled task ends asynchronously.
            try await until("the record is kept") {
                await interceptor.settled()
                return await interceptor.records.count == 1
            }
        }

        @Test(arguments: [false, true])
        func `a 401 without a challenge is delivered`(_ isWatched: Bool) async throws {
            let delegate = Delegate { _ in (.useCredential, Self.right) }
            try await withSession(isWatched ? [.running([])] : [], delegate) { session, url in
                let bearer = try #require(URL(string: "/bearer", relativeTo: url))
                let (_, response) = try await session.data(from: bearer)
                #expect((response as? HTTPURLResponse)?.statusCode == 401)
                #expect(delegate.challenges.withLock { $0.isEmpty })
            }
        }
    }

    private struct Unchecked<Value>: @unchecked Sendable {
        // Sendable: a credential is immutable.
        let value: Value
        init(_ value: Value) { self.value = value }
    }
#endif
