import AppStorePayloads
import BaseTestSupport
import Foundation
import HTTPCore
import NetworkTestSupport
import Primitives
import SignedData
import SimulatorControl
import StoreKitAdapter
import StoreModel
import Testing

@testable import AppStoreSimulator

/// An app's server without a socket that answers realtime requests.
final class RealtimeServer: HTTPTransport {
    static let url = "http://127.0.0.1:1/realtime"

    private struct State {
        var requests: [String] = []
        var answer: @Sendable () async throws -> HTTPResponse
    }

    private let state: Locked<State>

    init(_ answer: @escaping @Sendable () async throws -> HTTPResponse = { HTTPResponse(status: 200, json: [:]) }) {
        state = Locked(State(answer: answer))
    }

    convenience init(_ json: JSONValue) { self.init { HTTPResponse(status: 200, json: json) } }

    /// The signed payloads of the realtime requests.
    var requests: [String] { state.withLock { $0.requests } }

    func answer(_ json: JSONValue) { state.withLock { $0.answer = { HTTPResponse(status: 200, json: json) } } }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        guard request.url == Self.url else { return HTTPResponse(status: 200) }
        let payload = try await request.body.json()["signedPayload"]?.stringValue ?? ""
        let answer = state.withLock { state in
            state.requests.append(payload)
            return state.answer
        }
        return try await answer()
    }
}

/// The messages that customers see before a cancellation.
struct RetentionMessageTests {
    typealias Screen = StoreControlWire.RetentionMessage

    /// Opens a store with a monthly subscription of `anna`, whose server answers realtime requests.
    private func with(
        _ server: RealtimeServer = RealtimeServer(), url: String? = RealtimeServer.url,
        change: (inout SimulatedAppStore.Configuration) -> Void = { _ in },
        _ body: (TestStore, ServerClient) async throws -> Void
    ) async throws {
        try await TestStore.with(
            change: {
                $0.notificationTransport = server
                change(&$0)
            }
        ) { test in
            if let url { try await test.set(.realtimeURL, .string(url)) }
            try await test.buy("monthly")
            try await body(test, try ServerClient(test))
        }
    }

    private func isOff(_ test: TestStore) async throws -> Bool {
        try await test.store.subscriptions(of: "anna").allSatisfy { !$0.autoRenews }
    }

    // MARK: - The request

    @Test func `a cancellation sends a signed request and shows the message that the server chooses`() async throws {
        let server = RealtimeServer()
        try await with(server) { test, client in
            let id = try await client.uploadMessage("Stay", "We keep your photos.")
            server.answer(["message": ["messageIdentifier": .string(id.uuidString.lowercased())]])
            let answer = try await test.store.cancel("monthly", for: "anna", locale: "de-DE")
            let screen = try #require(answer.retentionMessage)
            #expect(screen.source == .realtime && screen.kind == .text && screen.messageIdentifier == id)
            #expect(screen.header == "Stay" && screen.body == "We keep your photos.")
            #expect(screen.result == "SUCCESS" && screen.refusal == nil && screen.locale == "de-DE")
            #expect(try await isOff(test))
            let payload = try test.verifier().realtimeRequest(try #require(server.requests.first)).payload
            #expect(server.requests.count == 1)
            #expect(payload.requestIdentifier == screen.requestIdentifier && payload.requestIdentifier != nil)
            #expect(payload.originalTransactionId == answer.originalTransactionID.rawValue)
            #expect(payload.productId == "monthly" && payload.userLocale == "de-DE" && payload.appAppleId == 1)
            #expect(payload.environment == .sandbox && payload.signedDate == Fixtures.start)
            #expect(try test.store.retentionMessages() == [screen])
        }
    }

    @Test func `without a URL and default messages, nothing is sent or stored`() async throws {
        let server = RealtimeServer()
        try await with(server, url: nil) { test, client in
            let answer = try await test.store.cancel("monthly", for: "anna")
            #expect(answer.retentionMessage == nil)
            #expect(server.requests.isEmpty)
            #expect(try test.store.retentionMessages().isEmpty)
            #expect(try await isOff(test))
        }
    }

    @Test func `the screen can be opened without a cancellation`() async throws {
        try await with { test, client in
            try await client.setDefault(try await client.uploadMessage())
            let first = try await test.store.showRetentionMessage(of: "monthly", for: "anna")
            let second = try await test.store.showRetentionMessage(of: "monthly", for: "anna")
            #expect(first.source == .defaultMessage && first.locale == "en-US" && second.number == first.number + 1)
            #expect(try await !isOff(test))
            #expect(try test.store.retentionMessages(of: "anna", after: first.number) == [second])
            await #expect(throws: SimulatorError(.unknownSubscription, "")) {
                try await test.store.showRetentionMessage(of: "weekly", for: "anna")
            }
            await #expect(throws: SimulatorError(.invalidValue, "")) {
                try await test.store.showRetentionMessage(of: "monthly", for: "anna", locale: "en_US")
            }
        }
    }

    @Test func `stores with the same seed send the same identifiers, and each of them once`() async throws {
        func identifiers(seed: UInt64) async throws -> [UUID?] {
            let server = RealtimeServer()
            var shown: [UUID?] = []
            try await with(server, change: { $0.seed = seed }) { test, client in
                for _ in 1...2 {
                    shown.append(
                        try await test.store.showRetentionMessage(of: "monthly", for: "anna").requestIdentifier)
                }
                let original = try await test.store.transactions(of: "anna")[0].transactionID
                for _ in 1...2 {
                    shown.append(try await test.store.beginPerformanceTest(of: try #require(original.number)))
                    await test.store.performanceTest.withLock { $0?.task }?.value
                }
                shown.append(try await test.store.cancel("monthly", for: "anna").retentionMessage?.requestIdentifier)
                let verifier = try test.verifier()
                let sent = try server.requests.map { try verifier.realtimeRequest($0).payload.requestIdentifier }
                #expect(sent.count == 2 * PerformanceTest.requests + 3)
                #expect(Set(sent + shown).count == sent.count + 2)
                shown += sent.map { $0?.uuidString ?? "" }.sorted().map { UUID(uuidString: $0) }
            }
            return shown
        }
        let first = try await identifiers(seed: 7)
        #expect(first.allSatisfy { $0 != nil })
        #expect(try await identifiers(seed: 7) == first)
        #expect(Set(try await identifiers(seed: 8)).isDisjoint(with: first))
    }

    @Test func `requests at the same time have identifiers and numbers of their own`() async throws {
        let gate = Gate()
        let server = RealtimeServer {
            await gate.wait()
            return HTTPResponse(status: 200, json: [:])
        }
        try await with(server, change: { $0.realtimeTimeout = .seconds(60) }) { test, _ in
            let store = test.store
            async let first = store.showRetentionMessage(of: "monthly", for: "anna")
            async let second = store.showRetentionMessage(of: "monthly", for: "anna")
            try await until("both requests are sent") { server.requests.count == 2 }
            let open = try store.retentionMessages()
            #expect(open.map(\.number) == [1, 2] && open.allSatisfy { $0.result == nil && $0.source == .nothing })
            gate.open()
            let shown = try await [first, second].sorted { $0.number < $1.number }
            #expect(try store.retentionMessages() == shown)
            #expect(shown.map(\.requestIdentifier) == open.map(\.requestIdentifier))
            #expect(Set(shown.map(\.requestIdentifier)).count == 2 && shown.allSatisfy { $0.result == "SUCCESS" })
        }
    }

    @Test func `a screen of a state that an import replaced meanwhile is not stored`() async throws {
        let gate = Gate()
        let server = RealtimeServer {
            await gate.wait()
            return HTTPResponse(status: 200, json: [:])
        }
        try await with(server, change: { $0.realtimeTimeout = .seconds(60) }) { test, _ in
            let store = test.store
            let empty = try await store.exportState()
            async let shown = store.showRetentionMessage(of: "monthly", for: "anna")
            try await until("the request is sent") { server.requests.count == 1 }
            try await store.importState(empty)
            gate.open()
            #expect(try await shown.result == "SUCCESS")
            #expect(try store.retentionMessages().isEmpty)
        }
    }

    // MARK: - The default message

    /// Answers that are not a choice of an approved message. Each has a part of the reason.
    static let unusable: [(String, JSONValue, String)] = [
        ("nothing", [:], "chooses no message"), ("an array", [1], "not a RealtimeResponseBody"),
        ("null", ["message": nil], "chooses no message"), ("a string", ["message": "x"], "not a RealtimeResponseBody"),
        ("no identifier", ["message": [:]], "missing or not a UUID"),
        ("no UUID", ["message": ["messageIdentifier": "x"]], "missing or not a UUID"),
        (
            "unknown", ["message": ["messageIdentifier": "7e3fb20b-4cdb-47cc-936d-99d65f608138"]], "There is no message"
        ),
        ("two choices", ["message": ["messageIdentifier": "$"], "alternateProduct": [:]], "several messages"),
        (
            "no product", ["alternateProduct": ["messageIdentifier": "$"]],
            "not on sale in the customer's subscription group"
        ),
        (
            "a product of another group", ["alternateProduct": ["messageIdentifier": "$", "productId": "weekly"]],
            "not on sale in the customer's subscription group"
        ),
        (
            "a consumable", ["alternateProduct": ["messageIdentifier": "$", "productId": "coins"]],
            "not on sale in the customer's subscription group"
        ),
        (
            "the present product", ["alternateProduct": ["messageIdentifier": "$", "productId": "monthly"]],
            "the customer's present product"
        ),
        ("an offer without a signature", ["promotionalOffer": ["messageIdentifier": "$"]], "one of the two forms"),
        (
            "an offer with a signature that is no JWS",
            ["promotionalOffer": ["messageIdentifier": "$", "promotionalOfferSignatureV2": "x"]], "is invalid"
        ),
        (
            "an incomplete signature",
            ["promotionalOffer": ["messageIdentifier": "$", "promotionalOfferSignatureV1": ["keyId": "x"]]],
            "is missing or invalid"
        ),
        ("Advanced Commerce", ["advancedCommerceInfo": ["messageIdentifier": "$"]], "no Advanced Commerce API"),
    ]

    @Test(arguments: unusable)
    func `an unusable answer leads to the default message, and the customer cancels`(
        title: String, answer: JSONValue, reason: String
    ) async throws {
        let server = RealtimeServer()
        try await with(server) { test, client in
            let id = try await client.uploadMessage("Default")
            try await client.setDefault(id)
            let text = answer.text().replacingOccurrences(of: "\"$\"", with: "\"\(id.uuidString)\"")
            server.answer(try JSONValue(parsing: text))
            let screen = try #require(try await test.store.cancel("monthly", for: "anna").retentionMessage)
            #expect(screen.source == .defaultMessage && screen.header == "Default", "\(title)")
            #expect(screen.result == "SUCCESS")
            #expect(screen.refusal?.contains(reason) == true, "\(screen.refusal ?? "")")
            #expect(try await isOff(test))
        }
    }

    @Test func `an answer that is not JSON leads to the default message`() async throws {
        for body in [HTTPBody.text("{"), .text(""), .bytes([0xFF]), .text(String(repeating: "[", count: 100_000))] {
            let server = RealtimeServer { HTTPResponse(status: 200, body: body) }
            try await with(server) { test, client in
                try await client.setDefault(try await client.uploadMessage())
                let screen = try #require(try await test.store.cancel("monthly", for: "anna").retentionMessage)
                #expect(screen.source == .defaultMessage && screen.refusal == "The response is not JSON.")
            }
        }
    }

    @Test(arguments: [
        (HTTPError.Code.timeout, "TIMED_OUT"), (.connectionFailed, "SOCKET_ISSUE"), (.tlsFailed, "TLS_ISSUE"),
        (.noAnswer, "NO_RESPONSE"),
    ])
    func `a server that does not answer leads to the default message`(
        code: HTTPError.Code, result: String
    ) async throws {
        try await with(RealtimeServer { throw HTTPError(code, "The test fails.") }) { test, client in
            try await client.setDefault(try await client.uploadMessage())
            let screen = try #require(try await test.store.cancel("monthly", for: "anna").retentionMessage)
            #expect(screen.source == .defaultMessage && screen.result == result)
            #expect(try await isOff(test))
        }
    }

    @Test(arguments: [204, 301, 404, 500])
    func `another status than 200 leads to the default message`(status: Int) async throws {
        try await with(RealtimeServer { HTTPResponse(status: status) }) { test, client in
            try await client.setDefault(try await client.uploadMessage())
            let screen = try #require(try await test.store.cancel("monthly", for: "anna").retentionMessage)
            #expect(screen.source == .defaultMessage && screen.refusal != nil)
        }
    }

    @Test func `a real server that never answers is not awaited longer than the time limit`() async throws {
        let gate = Gate()
        let handler = AnyHTTPHandler { _ in
            .suspended {
                await gate.wait()
                return HTTPResponse(status: 200)
            }
        }
        try await withLoopbackServer(handler) { url in
            try await TestStore.with(
                change: {
                    $0.notificationTransport = loopbackTransport()
                    $0.realtimeTimeout = .milliseconds(50)
                }
            ) { test in
                try await test.set(.realtimeURL, .string(url + "/realtime"))
                try await test.buy("monthly")
                let screen = try #require(try await test.store.cancel("monthly", for: "anna").retentionMessage)
                #expect(screen.source == .nothing && screen.result == "TIMED_OUT")
                #expect(try await isOff(test))
            }
            gate.open()
        }
    }

    @Test func `a default message of another product or locale is not shown`() async throws {
        try await with { test, client in
            let id = try await client.uploadMessage()
            try await client.setDefault(id, "pro")
            try await client.setDefault(id, "monthly", "de")
            let screen = try await test.store.showRetentionMessage(of: "monthly", for: "anna")
            #expect(screen.source == .nothing && screen.kind == nil && screen.header == nil)
            #expect(
                try await test.store.showRetentionMessage(of: "monthly", for: "anna", locale: "de").source
                    == .defaultMessage)
        }
    }

    static let positions: [(AppStoreServerAPI.HeaderPosition?, String?)] = [
        (nil, nil), (.aboveBody, "ABOVE_BODY"), (.aboveImage, "ABOVE_IMAGE"),
    ]

    @Test(arguments: positions)
    func `the place of the header, the image and the bullet points are shown as they were uploaded`(
        position: AppStoreServerAPI.HeaderPosition?, shown: String?
    ) async throws {
        try await with(url: nil) { test, client in
            let (full, bullet, id) = (UUID(), UUID(), UUID())
            try await client.upload(Pictures.full, full)
            try await client.upload(Pictures.bullet, bullet, size: "BULLET_POINT")
            func point(_ text: String) -> JSONValue {
                ["text": .string(text), "imageIdentifier": .string(bullet.uuidString), "altText": "a mark"]
            }
            var body: JSONValue = [
                "header": "h", "body": "b",
                "image": ["imageIdentifier": .string(full.uuidString), "altText": "a picture"],
                "bulletPoints": [point("first"), point("second")],
            ]
            body["headerPosition"] = position.map { .string($0.rawValue) }
            #expect(try await client.upload(message: body, id) == nil)
            #expect(try await client.setDefault(id) == nil)
            let screen = try await test.store.showRetentionMessage(of: "monthly", for: "anna")
            #expect(screen.messageIdentifier == id && screen.headerPosition == shown)
            #expect(screen.imageIdentifier == full && screen.altText == "a picture")
            #expect(screen.bulletPoints == ["first", "second"])
            let upload = try #require(try test.store.retentionUploads().messages.first)
            #expect(upload.message["bulletPoints"]?[1]?["altText"] == "a mark")
            #expect(upload.defaultFor == [.init(productID: "monthly", locale: "en-US")])
        }
    }

    @Test func `a message that was rejected is not shown any more`() async throws {
        let server = RealtimeServer()
        try await with(server) { test, client in
            let id = try await client.uploadMessage()
            try await client.setDefault(id)
            server.answer(["message": ["messageIdentifier": .string(id.uuidString)]])
            try await test.store.reviewRetentionMessage(id, .rejected)
            let screen = try await test.store.showRetentionMessage(of: "monthly", for: "anna")
            #expect(screen.source == .nothing && screen.refusal?.contains("is not approved") == true)
        }
    }

    // MARK: - Faults of the settings

    @Test func `an injected error is the result, and no request is sent`() async throws {
        let server = RealtimeServer()
        try await with(server) { test, client in
            try await test.set(.realtimeErrors, "CIRCULAR_REDIRECT")
            let screen = try await test.store.showRetentionMessage(of: "monthly", for: "anna")
            #expect(screen.result == "CIRCULAR_REDIRECT" && screen.source == .nothing && server.requests.isEmpty)
            try await test.set(.realtimeErrors, "off")
            #expect(try await test.store.showRetentionMessage(of: "monthly", for: "anna").result == "SUCCESS")
        }
    }

    @Test func `an injected latency above the time limit times out, and no request is sent`() async throws {
        let server = RealtimeServer()
        try await with(server) { test, client in
            try await test.set(.realtimeLatency, 5)
            async let screen = test.store.showRetentionMessage(of: "monthly", for: "anna")
            await test.base.waiters(atLeast: 1)
            test.base.advance(by: 1)
            #expect(try await screen.result == "TIMED_OUT")
            #expect(server.requests.isEmpty)
        }
    }

    // MARK: - Another product and an offer

    @Test func `a suggested product is shown, and the customer can buy it`() async throws {
        let server = RealtimeServer()
        try await with(server) { test, client in
            let id = try await client.uploadMessage()
            server.answer([
                "alternateProduct": ["messageIdentifier": .string(id.uuidString), "productId": "yearly"]
            ])
            let screen = try await test.store.showRetentionMessage(of: "monthly", for: "anna")
            #expect(screen.kind == .alternateProduct && screen.offeredProductID == "yearly")
            try await test.store.buy(.init(productID: try #require(screen.offeredProductID)), for: "anna")
            #expect(try await test.store.subscriptions(of: "anna").map(\.renewsTo) == ["yearly"])
            try await test.store.setWithdrawn("yearly", true)
            let later = try await test.store.showRetentionMessage(of: "monthly", for: "anna")
            #expect(later.source == .nothing && later.refusal?.contains("not on sale") == true)
        }
    }

    @Test func `a message with an image has no suggested product`() async throws {
        let server = RealtimeServer()
        try await with(server) { test, client in
            let (image, id) = (UUID(), UUID())
            try await client.upload(Pictures.full, image)
            try await client.upload(
                message: [
                    "header": "h", "body": "b",
                    "image": ["imageIdentifier": .string(image.uuidString), "altText": "a picture"],
                ], id)
            server.answer([
                "alternateProduct": ["messageIdentifier": .string(id.uuidString), "productId": "yearly"]
            ])
            let screen = try await test.store.showRetentionMessage(of: "monthly", for: "anna")
            #expect(screen.source == .nothing && screen.refusal?.contains("no image") == true)
            server.answer(["message": ["messageIdentifier": .string(id.uuidString)]])
            let shown = try await test.store.showRetentionMessage(of: "monthly", for: "anna")
            #expect(shown.imageIdentifier == image && shown.altText == "a picture")
        }
    }

    private func jws(
        _ client: ServerClient, _ test: TestStore, offer: String = "half", product: ProductID = "monthly",
        transaction: TransactionID?, at instant: Date? = nil
    ) throws -> String {
        try client.serverKey.sign(
            .promotionalOffer(offer, for: product, transactionID: transaction), nonce: UUID(),
            at: instant ?? test.store.clock.now())
    }

    @Test func `a signed offer is shown, and the customer can buy it`() async throws {
        let server = RealtimeServer()
        try await with(server) { test, client in
            let id = try await client.uploadMessage()
            let transaction = try await test.store.transactions(of: "anna")[0].transactionID
            server.answer([
                "promotionalOffer": [
                    "messageIdentifier": .string(id.uuidString),
                    "promotionalOfferSignatureV2": .string(try jws(client, test, transaction: transaction)),
                ]
            ])
            let screen = try await test.store.showRetentionMessage(of: "monthly", for: "anna")
            #expect(screen.kind == .promotionalOffer && screen.source == .realtime, "\(screen.refusal ?? "")")
            #expect(screen.offeredProductID == "monthly" && screen.offerID == "half")
            #expect(
                try await test.store.showRetentionMessage(of: "monthly", for: "anna").kind == .promotionalOffer,
                "A signature that is shown is not used up.")
            try await test.buy("monthly", offer: screen.offerID)
        }
    }

    @Test func `an offer signed in the earlier form is shown`() async throws {
        let server = RealtimeServer()
        try await with(server) { test, client in
            let id = try await client.uploadMessage()
            let api = test.store.summary.serverAPI
            let key = try SigningKey(Array(Data(contentsOf: URL(fileURLWithPath: api.privateKey))))
            let token = UUID()
            let signed = try PromotionalOfferSignature.sign(
                PromotionalOffer(
                    bundleID: test.store.summary.bundleID, productID: "monthly", offerID: "half",
                    appAccountToken: token),
                key: key, keyID: api.keyID, nonce: UUID(), at: test.store.clock.now())
            var signature: JSONValue = [
                "encodedSignature": .string(signed.base64), "productId": "monthly",
                "nonce": .string(signed.nonce.uuidString.lowercased()), "timestamp": .number(signed.timestamp),
                "keyId": .string(signed.keyID), "offerIdentifier": "half",
                "appAccountToken": .string(token.uuidString.lowercased()),
            ]
            func answer() -> JSONValue {
                [
                    "promotionalOffer": [
                        "messageIdentifier": .string(id.uuidString), "promotionalOfferSignatureV1": signature,
                    ]
                ]
            }
            server.answer(answer())
            let screen = try await test.store.showRetentionMessage(of: "monthly", for: "anna")
            #expect(screen.kind == .promotionalOffer && screen.offerID == "half", "\(screen.refusal ?? "")")
            for (member, value) in [
                ("appAccountToken", .string(UUID().uuidString)), ("keyId", "OTHER"), ("productId", "pro"),
                ("timestamp", .number(signed.timestamp + 1)), ("encodedSignature", "AAAA"),
            ] as [(String, JSONValue)] {
                let kept = signature
                signature[member] = value
                server.answer(answer())
                let refused = try await test.store.showRetentionMessage(of: "monthly", for: "anna")
                #expect(refused.source == .nothing && refused.refusal != nil, "\(member)")
                signature = kept
            }
        }
    }

    @Test func `an offer for another customer, product, offer or day is not shown`() async throws {
        let server = RealtimeServer()
        try await with(server) { test, client in
            let id = try await client.uploadMessage()
            let own = try await test.store.transactions(of: "anna")[0].transactionID
            let other = try await test.buy("monthly", "ben").transactionID
            let old = min(test.store.clock.now(), test.base.now()).addingTimeInterval(-86_400 * 2)
            let signatures = [
                try jws(client, test, transaction: nil), try jws(client, test, transaction: other),
                try jws(client, test, transaction: "77"), try jws(client, test, offer: "none", transaction: own),
                try jws(client, test, product: "weekly", transaction: own),
                try jws(client, test, transaction: own, at: old),
            ]
            for signature in signatures {
                server.answer([
                    "promotionalOffer": [
                        "messageIdentifier": .string(id.uuidString),
                        "promotionalOfferSignatureV2": .string(signature),
                    ]
                ])
                let screen = try await test.store.showRetentionMessage(of: "monthly", for: "anna")
                #expect(screen.source == .nothing && screen.refusal != nil)
            }
        }
    }

    // MARK: - The control API

    @Test func `the control API cancels, shows, lists and reviews`() async throws {
        try await with { test, client in
            let id = try await client.uploadMessage()
            try await client.setDefault(id)
            func send(_ method: HTTPRequest.Method, _ path: String, _ body: String = "{}") async throws -> JSONValue {
                let response = try await client.transport.send(
                    HTTPRequest(
                        method: method, url: "http://store.test/control/v1" + path,
                        headers: ["Content-Type": "application/json"], body: .text(method == .get ? "" : body)))
                return try await response.body.json()
            }
            let shown = try await send(.post, "/accounts/anna/retention-message", #"{"productID":"monthly"}"#)
            #expect(shown["source"] == "default" && shown["header"] == "Stay")
            let review = #"{"messageIdentifier":"\#(id)","state":"REJECTED"}"#
            #expect(try await send(.post, "/retention-messages/review", review)["code"] == nil)
            let uploads = try await send(.get, "/retention-messages/uploads")
            #expect(uploads["images"] == [] && uploads["messages"]?.arrayValue?.count == 1)
            #expect(uploads["messages"]?[0]?["state"] == "REJECTED")
            #expect(uploads["messages"]?[0]?["message"] == ["header": "Stay", "body": "You keep everything."])
            #expect(uploads["messages"]?[0]?["defaultFor"] == [["productID": "monthly", "locale": "en-US"]])
            let cancelled = try await send(.post, "/accounts/anna/cancel", #"{"productID":"monthly","locale":"en-US"}"#)
            #expect(cancelled["retentionMessage"]?["source"] == "nothing")
            let list = try await send(.get, "/retention-messages?account=anna")
            #expect(list["retentionMessages"]?.arrayValue == [shown, try #require(cancelled["retentionMessage"])])
            #expect(try await send(.get, "/retention-messages?account=ben")["code"] == "unknownAccount")
            let both = #"{"messageIdentifier":"\#(id)","imageIdentifier":"\#(id)","state":"APPROVED"}"#
            #expect(try await send(.post, "/retention-messages/review", both)["code"] == "malformed")
            let image = #"{"imageIdentifier":"\#(id)","state":"APPROVED"}"#
            #expect(try await send(.post, "/retention-messages/review", image)["code"] == "unknownMessage")
        }
    }
}

/// The performance test of the app's server.
struct PerformanceTestTests {
    private typealias API = AppStoreServerAPI
    private static let path = "/inApps/v1/messaging/performanceTest"

    private func with(
        _ server: RealtimeServer, url: String? = RealtimeServer.url,
        _ body: (TestStore, ServerClient, TransactionID) async throws -> Void
    ) async throws {
        try await TestStore.with(change: { $0.notificationTransport = server }) { test in
            if let url { try await test.set(.realtimeURL, .string(url)) }
            let bought = try await test.buy("monthly")
            try await body(test, try ServerClient(test), bought.transactionID)
        }
    }

    private func begin(_ client: ServerClient, _ id: TransactionID) async throws -> API.PerformanceTestResponse {
        let response = try await client.send(.post, Self.path, #"{"originalTransactionId":"\#(id)"}"#)
        #expect(response.status == 200)
        return try .init(json: try await response.body.json())
    }

    private func results(
        _ test: TestStore, _ client: ServerClient, _ begun: API.PerformanceTestResponse
    ) async throws -> API.PerformanceTestResultResponse {
        await test.store.performanceTest.withLock { $0?.task }?.value
        return try await client.get(
            "\(Self.path)/result/\(begun.requestId ?? "")", as: API.PerformanceTestResultResponse.self)
    }

    @Test func `a server that answers passes, after as many signed requests as the configuration says`() async throws {
        let server = RealtimeServer()
        try await with(server) { test, client, id in
            let begun = try await begin(client, id)
            let result = try await results(test, client, begun)
            #expect(result.result == .pass && result.successRate == 100 && result.numPending == 0)
            #expect(result.config == begun.config && result.target == RealtimeServer.url)
            #expect(result.failures == [:] && result.responseTimes?.p99 != nil)
            #expect(server.requests.count == begun.config?.totalRequests)
            #expect(begun.config?.totalRequests == 100 && begun.config?.maxConcurrentRequests == 10)
            #expect(begun.config?.responseTimeThreshold == 700 && begun.config?.successRateThreshold == 95)
            #expect(begun.config?.totalDuration == 7000)
            let verifier = try test.verifier()
            let payloads = try server.requests.map { try verifier.realtimeRequest($0).payload }
            #expect(Set(payloads.compactMap(\.requestIdentifier)).count == payloads.count)
            #expect(payloads.allSatisfy { $0.originalTransactionId == id.rawValue })
        }
    }

    /// The times of the requests, and their average and percentiles by the nearest rank.
    static let percentiles: [([Int], [Int])] = [
        ((1...100).reversed(), [50, 50, 90, 95, 99]), ([7], [7, 7, 7, 7, 7]), ([30, 10], [20, 10, 30, 30, 30]),
        ((1...10).map { $0 * 10 }, [55, 50, 90, 100, 100]), ((1...99).map { _ in 0 } + [1000], [10, 0, 0, 0, 0]),
        ((1...98).map { _ in 1 } + [900, 500], [14, 1, 1, 1, 500]),
    ]

    @Test(arguments: percentiles)
    func `the times of a test are summed up by average and nearest rank`(times: [Int], expected: [Int]) throws {
        var result = API.PerformanceTestResultResponse(testing: RealtimeServer.url)
        #expect(result.result == .pending && result.numPending == 100 && result.responseTimes == nil)
        result.end(failures: [:], times: times)
        let found = try #require(result.responseTimes)
        #expect([found.average, found.p50, found.p90, found.p95, found.p99].compactMap(\.self) == expected)
        #expect(result.result == .pass && result.successRate == 100 && result.numPending == 0)
    }

    @Test(arguments: [(0, AppStoreServerAPI.PerformanceTestStatus.pass), (5, .pass), (6, .fail), (100, .fail)])
    func `a test passes from the success rate of its configuration on`(
        failures: Int, expected: AppStoreServerAPI.PerformanceTestStatus
    ) {
        var result = API.PerformanceTestResultResponse(testing: RealtimeServer.url)
        result.end(failures: [.timedOut: failures], times: Array(repeating: 1, count: 100))
        #expect(result.result == expected && result.successRate == 100 - failures)
        #expect(result.failures == (failures == 0 ? [:] : [.timedOut: failures]))
    }

    @Test func `a server that fails gets its failures by result`() async throws {
        let count = Locked(0)
        let server = RealtimeServer {
            let number = count.withLock { count in
                count += 1
                return count
            }
            if number <= 4 { throw HTTPError(.timeout, "The test fails.") }
            return number <= 10 ? HTTPResponse(status: 500) : HTTPResponse(status: 200, json: [:])
        }
        try await with(server) { test, client, id in
            let result = try await results(test, client, try await begin(client, id))
            #expect(result.result == .fail && result.successRate == 90)
            #expect(result.failures == [.timedOut: 4, .unsuccessfulHttpResponseCode: 6])
        }
    }

    @Test func `an answer that is no realtime response is a failure`() async throws {
        try await with(RealtimeServer(["message": "x"])) { test, client, id in
            let result = try await results(test, client, try await begin(client, id))
            #expect(result.result == .fail && result.failures == [.invalidResponse: 100])
        }
    }

    @Test func `a second test is refused while one runs, and a closed store ends it`() async throws {
        let folder = try ScratchFolder()
        let gate = Gate()
        let server = RealtimeServer {
            await gate.wait()
            return HTTPResponse(status: 200, json: [:])
        }
        var request = ""
        try await TestStore.with(in: folder, change: { $0.notificationTransport = server }) { test in
            try await test.set(.realtimeURL, .string(RealtimeServer.url))
            let id = try await test.buy("monthly").transactionID
            let client = try ServerClient(test)
            request = try #require(try await begin(client, id).requestId)
            let running = try await client.get(
                "\(Self.path)/result/\(request)", as: API.PerformanceTestResultResponse.self)
            #expect(running.result == .pending && running.numPending == 100)
            #expect(
                try await client.code(.post, Self.path, #"{"originalTransactionId":"\#(id)"}"#)
                    == .existingPerformanceTestRun)
            gate.open()
        }
        try await TestStore.with(in: folder, change: { $0.notificationTransport = server }) { test in
            let client = try ServerClient(test)
            let ended = try await client.get(
                "\(Self.path)/result/\(request)", as: API.PerformanceTestResultResponse.self)
            #expect(ended.result != .pending && ended.numPending == 0)
            let id = try await test.store.transactions(of: "anna")[0].transactionID
            #expect(try await begin(client, id).requestId != nil)
        }
    }

    @Test func `a test of a killed store is a failure after the next start`() async throws {
        let folder = try ScratchFolder()
        let id = UUID()
        try await TestStore.with(in: folder) { test in
            try await test.store.database.write {
                try SimulatorDatabase($0).save(.init(testing: "https://example.com"), id, at: Fixtures.start)
            }
        }
        try await TestStore.with(in: folder) { test in
            let result = try test.store.performanceTestResults(id)
            #expect(result.result == .fail && result.successRate == 0 && result.failures == [.other: 100])
        }
    }

    @Test func `a test needs a URL and the original transaction of an active subscription`() async throws {
        try await with(RealtimeServer(), url: nil) { test, client, id in
            func code(_ body: String) async throws -> ErrorCode? { try await client.code(.post, Self.path, body) }
            func body(_ id: String) -> String { #"{"originalTransactionId":"\#(id)"}"# }
            #expect(try await code(body(id.rawValue)) == .invalidPerformanceTestRequest)
            try await test.set(.realtimeURL, .string(RealtimeServer.url))
            #expect(try await code("{}") == .invalidPerformanceTestRequest)
            for number in impossibleNumbers where !number.contains("%") {
                #expect(try await code(body(number)) == .invalidTransactionId)
            }
            #expect(try await code(body("77")) == .invalidTransactionId)
            #expect(try await code(body(try test.appTransactionID())) == .appTransactionIdNotSupported)
            #expect(
                try await code(body(try await test.buy("coins").transactionID.rawValue))
                    == .invalidPerformanceTestRequest)
            try await test.advance(.months(1))
            let renewal = try #require(try await test.store.transactions(of: "anna").last { $0.productID == "monthly" })
            #expect(try await code(body(renewal.transactionID.rawValue)) == .transactionIdIsNotOriginalTransactionId)
            try await test.store.expire("monthly", for: "anna")
            #expect(try await code(body(id.rawValue)) == .invalidPerformanceTestRequest)
        }
    }

    @Test func `results need the identifier of a test`() async throws {
        try await with(RealtimeServer()) { (_, client, _) async throws in
            #expect(try await client.code(.get, "\(Self.path)/result/nine") == .invalidRequestId)
            #expect(try await client.code(.get, "\(Self.path)/result/\(UUID())") == .performanceTestRunNotFound)
        }
    }
}
