import BaseTestSupport
import Foundation
import HTTPCore
import NetworkInterception
import Primitives
import StoreTestSupport
import Testing

/// Cancellation in every phase of a request.
@Suite struct CancellationTests {
    enum Phase: CaseIterable { case willRequest, connecting, didRespond }

    @Test(arguments: Phase.allCases, [true, false])
    func `a call that is cancelled in any phase throws the error cancelled, and is recorded`(
        _ phase: Phase, _ reactsToCancellation: Bool
    ) async throws {
        let (isReached, mayGoOn) = (Gate(), Gate())
        let stay: @Sendable () async -> Void = {
            isReached.open()
            if reactsToCancellation { _ = try? await untilCancelled() } else { await mayGoOn.wait() }
        }
        let interceptor = Interceptor.running([
            Probe(
                before: { _ in if phase == .willRequest { await stay() } },
                after: { _ in if phase == .didRespond { await stay() } })
        ])
        let network = AnyTransport { _ in
            if phase == .connecting { isReached.open() }
            if phase == .didRespond { return HTTPResponse(status: 200) }
            do { try await untilCancelled() } catch { throw HTTPError(.cancelled, "cancelled") }
        }
        let transport = interceptor.transport(wrapping: network)
        let sending = Task { try await transport.send(getRoot) }
        await isReached.wait()
        sending.cancel()
        mayGoOn.open()
        await #expect(throws: HTTPError(.cancelled, "")) { try await sending.value }
        let record = try #require(await interceptor.records.first)
        #expect(record.failure as? HTTPError == HTTPError(.cancelled, ""))
        #expect(record.timing.ended != nil)
    }

    @Test func `the body of an answer is cancelled if the caller was cancelled meanwhile`() async throws {
        let (isAnswered, mayGoOn, isStopped) = (Gate(), Gate(), Gate())
        let interceptor = Interceptor.running([
            Probe(after: { _ in
                isAnswered.open()
                await mayGoOn.wait()
            })
        ])
        let transport = interceptor.transport(
            wrapping: AnyTransport { _ in
                HTTPResponse(status: 200, body: .stream(HTTPBodyStream(next: { [1] }, cancel: { isStopped.open() })))
            })
        let sending = Task { try await transport.send(getRoot) }
        await isAnswered.wait()
        sending.cancel()
        mayGoOn.open()
        await #expect(throws: HTTPError(.cancelled, "")) { try await sending.value }
        await isStopped.wait()
    }

    @Test func `a floret's answer does not reach a caller that was cancelled meanwhile`() async throws {
        let (isAsked, mayGoOn) = (Gate(), Gate())
        let interceptor = Interceptor.running([
            Probe(before: { record in
                isAsked.open()
                await mayGoOn.wait()
                record.result = .success(Response(status: 200))
            })
        ])
        let transport = interceptor.transport(wrapping: ScriptedTransport())
        let sending = Task { try await transport.send(getRoot) }
        await isAsked.wait()
        sending.cancel()
        mayGoOn.open()
        await #expect(throws: HTTPError(.cancelled, "")) { try await sending.value }
    }

    @Test func `the answer of a transport that ignores the cancellation reaches the caller`() async throws {
        let (isReached, mayGoOn) = (Gate(), Gate())
        let interceptor = Interceptor.running([Probe()])
        let transport = interceptor.transport(
            wrapping: AnyTransport { _ in
                isReached.open()
                await mayGoOn.wait()
                return HTTPResponse(status: 200)
            })
        let sending = Task { try await transport.send(getRoot) }
        await isReached.wait()
        sending.cancel()
        mayGoOn.open()
        #expect(try await sending.value.status == 200)
    }
}
