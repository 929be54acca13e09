import BaseTestSupport
import EntitlementServer
import Foundation
import HTTPCore
import Primitives
import StoreModel
import StoreTestSupport
import Testing

/// Retries: which calls, when, and how often. The time limit ends a test that hangs. It allows for Thread Sanitizer,
/// under which all tests of the target compete for the processor.
@Suite(.timeLimit(.minutes(5))) struct RetryTests {
    private static let now = Date(timeIntervalSince1970: 1_767_225_600)

    @Test(arguments: [
        ("1767225607500", 7.5), (" 1767225607500 ", 7.5), ("7", 7), ("Thu, 01 Jan 2026 00:00:09 GMT", 9),
        ("1767225600000", 0), ("1767225599000", 0), ("Wed, 31 Dec 2025 23:00:00 GMT", 0),
        ("soon", 0.5), ("", 0.5), ("-7", 0.5), ("99999999999999999999", 0.5),
    ])
    func `a retry waits for a valid Retry-After, or else for the backoff`(text: String, pause: TimeInterval)
        async throws
    {
        let fixture = try ClientFixture([
            .refusal(.rateLimitExceeded, headers: ["Retry-After": text]), .answer(json: [:]),
        ])
        _ = try await fixture.client.transactionInfo("12")
        #expect(fixture.clock.pauses == [pause])
    }

    @Test func `a pause longer than the backoff allows is left to the caller`() async throws {
        let fixture = try ClientFixture([
            .refusal(.rateLimitExceeded, headers: ["Retry-After": "1767229200000"])
        ])
        let error = try #require(await apiError { try await fixture.client.transactionInfo("12") })
        #expect(error == AppStoreServerAPIError(.refused, "", status: 429, code: .rateLimitExceeded))
        #expect(error.retryAfter == Self.now.addingTimeInterval(3600))
        #expect(error.isRetryable)
        #expect(fixture.clock.pauses.isEmpty)
    }

    static let temporaryFailures: [ScriptedTransport.Step] = [
        .refusal(.generalInternalRetryable), .refusal(.accountNotFoundRetryable), .refusal(.appNotFoundRetryable),
        .refusal(.originalTransactionIdNotFoundRetryable), .refusal(.rateLimitExceeded), .answer(status: 429),
        .answer(status: 502), .answer(status: 503), .failure(.timeout), .failure(.connectionLost),
        .failure(.connectionFailed), .failure(.hostNotFound),
    ]

    @Test(arguments: 0..<12)
    func `a temporary failure is retried with growing pauses`(
        number: Int
    ) async throws {
        let fixture = try ClientFixture(Array(repeating: Self.temporaryFailures[number], count: 4)) {
            $0.backoff = Backoff(attempts: 4, initial: .seconds(1), maximum: .seconds(3))
        }
        let error = try #require(await apiError { try await fixture.client.transactionInfo("12") })
        #expect(error.isRetryable)
        #expect(fixture.clock.pauses == [1, 2, 3])
        let recovered = try ClientFixture([
            Self.temporaryFailures[number], .answer(json: ["signedTransactionInfo": "s"]),
        ])
        #expect(try await recovered.client.transactionInfo("12").signedTransactionInfo == "s")
    }

    static let permanentFailures: [ScriptedTransport.Step] = [
        .refusal(.generalInternal), .refusal(.transactionIdNotFound), .refusal(.invalidTransactionId),
        .refusal(.init(rawValue: 4_990_001)), .answer(status: 400), .answer(status: 401), .answer(status: 404),
        .answer(status: 302), .failure(.tlsFailed), .failure(.invalidURL), .failure(.protocolError),
        .answer(HTTPResponse(status: 200, body: .text("hello"))), .answer(json: []),
    ]

    @Test(arguments: 0..<13)
    func `a permanent failure is not retried`(number: Int) async throws {
        let fixture = try ClientFixture([Self.permanentFailures[number]])
        let error = try #require(await apiError { try await fixture.client.transactionInfo("12") })
        #expect(!error.isRetryable)
        #expect(fixture.clock.pauses.isEmpty)
    }

    typealias Call = @Sendable (AppStoreServerAPIClient) async throws -> Void
    static let nonIdempotentCalls: [Call] = [
        { _ = try await $0.requestTestNotification() }, { try await $0.uploadImage(UUID(), []) },
        { try await $0.deleteMessage(UUID()) }, { _ = try await $0.extendRenewalDate(of: "12", .init()) },
        { _ = try await $0.extendRenewalDates(.init { $0.productId = "p" }) },
    ]

    @Test(arguments: 0..<5)
    func `a call that is not idempotent is retried only if it was certainly not executed`(number: Int) async throws {
        for doubtful in [.failure(.connectionLost), .failure(.timeout), .answer(status: 503)] + [
            .refusal(.generalInternalRetryable)
        ] as [ScriptedTransport.Step] {
            let fixture = try ClientFixture([doubtful])
            let error = try #require(await apiError { try await Self.nonIdempotentCalls[number](fixture.client) })
            #expect(error.isRetryable, "The caller may still retry.")
        }
        for sure in [.failure(.connectionFailed), .failure(.hostNotFound), .refusal(.rateLimitExceeded)]
            as [ScriptedTransport.Step]
        {
            let fixture = try ClientFixture([sure, .answer(json: [:])])
            try await Self.nonIdempotentCalls[number](fixture.client)
        }
    }

    static let idempotentCalls: [Call] = [
        { _ = try await $0.extendRenewalDate(of: "12", .init { $0.requestIdentifier = "r" }) },
        { _ = try await $0.extendRenewalDates(.init { $0.requestIdentifier = "r" }) },
        { try await $0.setAppAccountToken(UUID(), of: "12") }, { try await $0.finish("12") },
        { try await $0.sendConsumptionInformation(.init(), of: "12") },
        { try await $0.sendConsumptionInformationV1(.init(), of: "12") },
        { _ = try await $0.notificationHistory(.init()) },
    ]

    @Test(arguments: 0..<7)
    func `an idempotent call is retried when its result is unknown`(number: Int) async throws {
        let fixture = try ClientFixture([.failure(.connectionLost), .answer(json: [:])])
        try await Self.idempotentCalls[number](fixture.client)
        let bodies = fixture.transport.requests.map { $0.body.buffered }
        #expect(bodies[0] == bodies[1])
    }

    @Test func `a client without retries sends one request`() async throws {
        let fixture = try ClientFixture([.answer(status: 503)]) { $0.backoff = .none }
        #expect(await apiError { try await fixture.client.transactionInfo("12") }?.status == 503)
    }

    @Test func `a cancellation during a pause ends the call`() async throws {
        let clock = ManualClock()
        let fixture = try ClientFixture([.answer(status: 503)]) { $0.clock = clock }
        let task = Task { try await fixture.client.transactionInfo("12") }
        await clock.waiters(atLeast: 1)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test func `a cancellation during a request ends the call`() async throws {
        let (asked, hasAsked) = AsyncStream.makeStream(of: Void.self)
        let fixture = try ClientFixture([
            .perform { _ in
                hasAsked.finish()
                do { try await untilCancelled() } catch { throw HTTPError(.cancelled, "Cancelled.") }
            }
        ])
        let task = Task { try await fixture.client.transactionInfo("12") }
        for await _ in asked {}
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}
