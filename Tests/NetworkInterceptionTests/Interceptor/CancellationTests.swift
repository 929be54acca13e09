import BaseTestSupport
import Foundation
import HTTPCore
import NetworkInterception
import Primitives
import StoreTestSupport
import Testing

/// Cancellation in every phase of a request, compared with the behaviour without an interceptor.
@Suite struct CancellationTests {
    enum Phase: CaseIterable { case willRequest, connecting, didRespond }

    @Test(arguments: Phase.allCases, [true, false])
    func `a cancelled call throws the same error as without an interceptor`(
        _ phase: Phase, _ heedsIt: Bool
    ) async throws {
        let (isThere, mayGoOn) = (Gate(), Gate())
        let stay: @Sendable () async -> Void = {
            isThere.open()
            if heedsIt { _ = try? await untilCancelled() } else { await mayGoOn.wait() }
        }
        let interceptor = Interceptor.running([
            Probe(
                before: { _ in if phase == .willRequest { await stay() } },
                after: { _ in if phase == .didRespond { await stay() } })
        ])
        let network = AnyTransport { _ in
            if phase == .connecting { isThere.open() }
            if phase == .didRespond { return HTTPResponse(status: 200) }
            do { try await untilCancelled() } catch { throw HTTPError(.cancelled, "cancelled") }
        }
        let transport = interceptor.transport(wrapping: network)
        let sending = Task { try await transport.send(getRoot) }
        await isThere.wait()
        sending.cancel()
        mayGoOn.open()
        await #expect(throws: HTTPError(.cancelled, "")) { try await sending.value }
        let record = try #require(await interceptor.records.first)
        #expect(record.failure as? HTTPError == HTTPError(.cancelled, ""))
        #expect(record.timing.ended != nil)
    }

    @Test func `an answer whose caller was cancelled is released`() async throws {
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

    @Test func `an answer of a cancelled transport reaches the caller`() async throws {
        let (isThere, mayGoOn) = (Gate(), Gate())
        let interceptor = Interceptor.running([Probe()])
        let transport = interceptor.transport(
            wrapping: AnyTransport { _ in
                isThere.open()
                await mayGoOn.wait()
                return HTTPResponse(status: 200)
            })
        let sending = Task { try await transport.send(getRoot) }
        await isThere.wait()
        sending.cancel()
        mayGoOn.open()
        #expect(try await sending.value.status == 200)
    }
}
