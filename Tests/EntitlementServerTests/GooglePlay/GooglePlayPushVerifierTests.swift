import BaseTestSupport
import Foundation
import GooglePlay
import HTTPCore
import Primitives
import SignedData
import StoreTestSupport
import Testing

@testable import EntitlementServer

/// The tokens of push requests, and the requests for Google's keys.
@Suite struct GooglePlayPushVerifierTests {
    private static let key = Result { try RSASigningKey.generate() }
    private static let newKey = Result { try RSASigningKey.generate() }
    private static let expected = PushToken(audience: "https://souk.example/push", email: "push@example.com")

    private let clock = ManualClock()

    private func token(
        _ token: PushToken = expected, key: Result<RSASigningKey, any Error> = key, keyID: String = "k1",
        age: TimeInterval = 0
    ) throws -> String {
        "Bearer "
            + (try token.signed(
                by: key.get(), keyID: keyID, subject: "1", at: clock.now().addingTimeInterval(-age)))
    }

    private static func keys(_ ids: [String], cacheControl: String? = nil) throws -> HTTPResponse {
        let keys = try ids.map { ($0, try ($0 == "k1" ? key : newKey).get().verificationKey) }
        let set = JSONWebKeySet(Dictionary(uniqueKeysWithValues: keys))
        return HTTPResponse(headers: cacheControl.map { ["Cache-Control": $0] } ?? [:], json: set.json)
    }

    private func verifier(_ answers: [ScriptedTransport.Step]) -> (GooglePlayPushVerifier, ScriptedTransport) {
        let transport = ScriptedTransport(answers)
        return (GooglePlayPushVerifier(transport: transport, clock: clock), transport)
    }

    private func code(_ body: () async throws -> Void) async -> SignedDataError.Code? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? SignedDataError)?.code
        }
    }

    @Test func `a push request of the simulated Google Play verifies with the keys of that store`() async throws {
        let arrived = Locked<HTTPRequest?>(nil)
        let receiver = SteeredTransport(ScriptedTransport())
        receiver.steer { request in
            arrived.withLock { $0 = request }
            return HTTPResponse(status: 204)
        }
        try await PlayStore.with(base: clock, sender: receiver) { play in
            try await play.store.requestPlayTestNotification()
            try await until("the notification arrives") { arrived.withLock { $0 != nil } }
            let authorization = arrived.withLock { $0?.headers["Authorization"] }
            let verifier = GooglePlayPushVerifier(
                keysURL: PlayStore.keysURL, transport: play.transport, clock: clock)
            try await verifier.verify(authorization, as: play.push)
            try await verifier.verify(authorization, as: play.push)
            var other = play.push
            other.audience += "/"
            #expect(await code { try await verifier.verify(authorization, as: other) } == .claimInvalid)
            other = play.push
            other.email = "someone@example.com"
            #expect(await code { try await verifier.verify(authorization, as: other) } == .claimInvalid)
            clock.advance(by: 3700)
            #expect(await code { try await verifier.verify(authorization, as: play.push) } == .notCurrent)
        }
    }

    @Test func `the keys are requested once for tokens at the same time, and kept`() async throws {
        let (verifier, transport) = verifier([.answer(try Self.keys(["k1"]))])
        let token = try token()
        try await withThrowingTaskGroup { group in
            for _ in 1...20 { group.addTask { try await verifier.verify(token, as: Self.expected) } }
            try await group.waitForAll()
        }
        #expect(transport.requests.map(\.url) == [GooglePlayPushVerifier.googleKeysURL])
    }

    @Test(arguments: [
        nil, "", "Bearer", "Basic abc", "Bearer a", "Bearer a.b.c", "Bearer " + String(repeating: "a", count: 20_000),
    ])
    func `a header without a token is refused without a request for keys`(header: String?) async throws {
        let (verifier, _) = verifier([])
        let code = await code { try await verifier.verify(header, as: Self.expected) }
        #expect(code == .malformed || code == .tooLarge)
    }

    @Test func `tokens with other claims, another time or another signature are refused`() async throws {
        let (verifier, _) = verifier([.answer(try Self.keys(["k1"]))])
        let unverified = try RS256Token.sign(
            [
                "aud": "https://souk.example/push", "email": "push@example.com", "email_verified": false,
                "iat": .number(clock.now().timeIntervalSince1970), "iss": .string(PushToken.issuer),
                "exp": .number(clock.now().timeIntervalSince1970 + 600),
            ], key: Self.key.get(), keyID: "k1")
        let cases: [(String, SignedDataError.Code)] = [
            (try token(PushToken(audience: "https://souk.example/pusH", email: "push@example.com")), .claimInvalid),
            (try token(PushToken(audience: "https://souk.example/push", email: "Push@example.com")), .claimInvalid),
            ("Bearer " + unverified, .claimInvalid), (try token(age: 3700), .notCurrent),
            (try token(age: -120), .notCurrent), (try token(key: Self.newKey), .signatureInvalid),
            (try token(keyID: "k2"), .unknownKey),
        ]
        for (token, expected) in cases {
            #expect(await code { try await verifier.verify(token, as: Self.expected) } == expected)
        }
        try await verifier.verify(try token().replacing("Bearer", with: "bearer"), as: Self.expected)
    }

    @Test func `tokens with unknown keys cause one request in a minute`() async throws {
        let (verifier, transport) = verifier([
            .answer(try Self.keys(["k1"])), .answer(try Self.keys(["k1"])), .answer(try Self.keys(["k1", "k2"])),
        ])
        try await verifier.verify(token(), as: Self.expected)
        for (pause, requests) in [(0, 1), (59, 1), (1, 2), (59, 2)] as [(TimeInterval, Int)] {
            clock.advance(by: pause)
            for id in ["k2", "x", "y"] {
                let token = try token(key: Self.newKey, keyID: id)
                #expect(await code { try await verifier.verify(token, as: Self.expected) } == .unknownKey)
            }
            #expect(transport.requests.count == requests)
        }
        clock.advance(by: 1)
        // A new key of Google is known within a minute.
        try await verifier.verify(token(key: Self.newKey, keyID: "k2"), as: Self.expected)
        try await verifier.verify(token(), as: Self.expected)
    }

    @Test(arguments: [
        ("public, max-age=7200, must-revalidate", 7200.0), ("max-age=1", 300), ("max-age=99999999", 86_400),
        ("max-age=99999999999999999999", 3600), ("max-age=-1", 3600), ("no-store", 300), ("", 3600),
    ])
    func `keys are kept as Cache-Control says, within bounds`(cacheControl: String, seconds: TimeInterval) async throws
    {
        let answer = try Self.keys(["k1"], cacheControl: cacheControl)
        let (verifier, transport) = verifier([.answer(answer), .answer(answer)])
        for (pause, requests) in [(0, 1), (seconds - 1, 1), (1, 2)] as [(TimeInterval, Int)] {
            clock.advance(by: pause)
            try await verifier.verify(token(), as: Self.expected)
            #expect(transport.requests.count == requests)
        }
    }

    @Test(arguments: 0..<5)
    func `without keys the error says that they are unavailable, and the next request comes after ten seconds`(
        number: Int
    ) async throws {
        let failures: [ScriptedTransport.Step] = [
            .answer(status: 503), .fail(HTTPError(.timeout, "It took too long.")), .answer(json: ["keys": []]),
            .answer(HTTPResponse(status: 200, body: .text("<html>"))),
            .answer(HTTPResponse(status: 200, body: .text(String(repeating: " ", count: 300 << 10)))),
        ]
        let (verifier, transport) = verifier([failures[number], .answer(try Self.keys(["k1"]))])
        let token = try token()
        for pause in [0, 9] as [TimeInterval] {
            clock.advance(by: pause)
            await #expect(throws: GooglePlayPushVerifier.KeysUnavailable.self) {
                try await verifier.verify(token, as: Self.expected)
            }
            #expect(transport.requests.count == 1)
        }
        clock.advance(by: 1)
        try await verifier.verify(token, as: Self.expected)
    }

    @Test func `a failed request keeps the keys that are there`() async throws {
        let (verifier, _) = verifier([.answer(try Self.keys(["k1"])), .answer(status: 500)])
        try await verifier.verify(token(), as: Self.expected)
        clock.advance(by: 60)
        let unknown = try token(key: Self.newKey, keyID: "k2")
        await #expect(throws: GooglePlayPushVerifier.KeysUnavailable.self) {
            try await verifier.verify(unknown, as: Self.expected)
        }
        try await verifier.verify(token(), as: Self.expected)
    }
}
