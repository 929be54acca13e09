import AppStorePayloads
import BaseTestSupport
import EntitlementServer
import Foundation
import HTTPCore
import Primitives
import StoreModel
import Testing

/// The requests of the client's methods.
@Suite struct CallTests {
    struct Case: Sendable {
        let line: String
        var body = ""
        let call: @Sendable (AppStoreServerAPIClient) async throws -> Void
    }

    static let token = UUID(uuidString: "7E3FB20B-4CDB-47CC-936D-99D65F608138")!

    private static let id = token.uuidString.lowercased()

    static let cases: [Case] = [
        Case(line: "GET /inApps/v1/transactions/12") { _ = try await $0.transactionInfo("12") },
        Case(line: "GET /inApps/v1/transactions/appTransactions/12") { _ = try await $0.appTransactionInfo("12") },
        Case(line: "GET /inApps/v2/history/12") { _ = try await $0.transactionHistory(of: "12") },
        Case(line: "GET /inApps/v2/history/12?productId=a%20b&sort=DESCENDING&revoked=false&revision=r%2F1") {
            _ = try await $0.transactionHistory(
                of: "12", .init(productIds: ["a b"], sort: .descending, revoked: false), revision: "r/1")
        },
        Case(line: "GET /inApps/v1/history/12?productType=CONSUMABLE&revision=r") {
            _ = try await $0.transactionHistoryV1(of: "12", .init(productTypes: [.consumable]), revision: "r")
        },
        Case(line: "GET /inApps/v1/subscriptions/12") { _ = try await $0.subscriptionStatuses(of: "12") },
        Case(line: "GET /inApps/v1/subscriptions/12?status=1&status=4") {
            _ = try await $0.subscriptionStatuses(of: "12", [.active, .billingGracePeriod])
        },
        Case(line: "GET /inApps/v1/lookup/MQT4%2F7") { _ = try await $0.lookUpOrder("MQT4/7") },
        Case(line: "GET /inApps/v2/refund/lookup/12") { _ = try await $0.refundHistory(of: "12") },
        Case(line: "GET /inApps/v2/refund/lookup/12?revision=r") {
            _ = try await $0.refundHistory(of: "12", revision: "r")
        },
        Case(line: "GET /inApps/v1/refund/lookup/12") { _ = try await $0.refundHistoryV1(of: "12") },
        Case(
            line: "PUT /inApps/v1/subscriptions/extend/12",
            body: #"{"extendByDays":3,"extendReasonCode":1,"requestIdentifier":"r"}"#
        ) {
            _ = try await $0.extendRenewalDate(
                of: "12",
                .init {
                    $0.extendByDays = 3
                    $0.extendReasonCode = .customerSatisfaction
                    $0.requestIdentifier = "r"
                })
        },
        Case(
            line: "POST /inApps/v1/subscriptions/extend/mass",
            body: #"{"extendByDays":3,"requestIdentifier":"r","storefrontCountryCodes":["USA"],"productId":"p"}"#
        ) {
            _ = try await $0.extendRenewalDates(
                .init {
                    $0.extendByDays = 3
                    $0.requestIdentifier = "r"
                    $0.storefrontCountryCodes = ["USA"]
                    $0.productId = "p"
                })
        },
        Case(line: "GET /inApps/v1/subscriptions/extend/mass/p/r") { _ = try await $0.statusOfExtension("r", of: "p") },
        Case(
            line: "PUT /inApps/v2/transactions/consumption/12",
            body: #"{"customerConsented":true,"deliveryStatus":"DELIVERED"}"#
        ) {
            try await $0.sendConsumptionInformation(
                .init {
                    $0.customerConsented = true
                    $0.deliveryStatus = .delivered
                }, of: "12")
        },
        Case(
            line: "PUT /inApps/v1/transactions/consumption/12", body: #"{"customerConsented":true,"playTime":7}"#
        ) {
            try await $0.sendConsumptionInformationV1(
                .init {
                    $0.customerConsented = true
                    $0.playTime = .overSixteenDays
                }, of: "12")
        },
        Case(line: "POST /inApps/v1/transactions/12/finish") { try await $0.finish("12") },
        Case(
            line: "PUT /inApps/v1/transactions/12/appAccountToken",
            body: #"{"appAccountToken":"7e3fb20b-4cdb-47cc-936d-99d65f608138"}"#
        ) { try await $0.setAppAccountToken(token, of: "12") },
        Case(line: "POST /inApps/v1/notifications/test") { _ = try await $0.requestTestNotification() },
        Case(line: "GET /inApps/v1/notifications/test/a_1") { _ = try await $0.testNotificationStatus("a_1") },
        Case(
            line: "POST /inApps/v1/notifications/history?paginationToken=p",
            body: #"{"startDate":1000,"onlyFailures":true}"#
        ) {
            _ = try await $0.notificationHistory(
                .init {
                    $0.startDate = Date(timeIntervalSince1970: 1)
                    $0.onlyFailures = true
                }, paginationToken: "p")
        },
        Case(line: "DELETE /inApps/v1/messaging/image/\(id)") { try await $0.deleteImage(token) },
        Case(line: "GET /inApps/v1/messaging/image/list") { _ = try await $0.imageList() },
        Case(line: "PUT /inApps/v1/messaging/message/\(id)", body: #"{"header":"h","body":"b"}"#) {
            try await $0.uploadMessage(
                token,
                .init {
                    $0.header = "h"
                    $0.body = "b"
                })
        },
        Case(line: "DELETE /inApps/v1/messaging/message/\(id)") { try await $0.deleteMessage(token) },
        Case(line: "GET /inApps/v1/messaging/message/list") { _ = try await $0.messageList() },
        Case(
            line: "PUT /inApps/v1/messaging/default/a%20b/en-US", body: #"{"messageIdentifier":"\#(id)"}"#
        ) { try await $0.setDefaultMessage(token, of: "a b", locale: "en-US") },
        Case(line: "DELETE /inApps/v1/messaging/default/p/de") {
            try await $0.deleteDefaultMessage(of: "p", locale: "de")
        },
        Case(line: "GET /inApps/v1/messaging/default/p/de") {
            _ = try await $0.defaultMessage(of: "p", locale: "de")
        },
        Case(line: "PUT /inApps/v1/messaging/realtime/url", body: #"{"realtimeURL":"https://a.example"}"#) {
            try await $0.setRealtimeURL("https://a.example")
        },
        Case(line: "DELETE /inApps/v1/messaging/realtime/url") { try await $0.deleteRealtimeURL() },
        Case(line: "GET /inApps/v1/messaging/realtime/url") { _ = try await $0.realtimeURL() },
        Case(line: "POST /inApps/v1/messaging/performanceTest", body: #"{"originalTransactionId":"12"}"#) {
            _ = try await $0.startPerformanceTest(of: "12")
        },
        Case(line: "GET /inApps/v1/messaging/performanceTest/result/r") {
            _ = try await $0.performanceTestResults("r")
        },
    ]

    @Test(arguments: 0..<34)
    func `each method uses Apple's path, query and body`(number: Int) async throws {
        let expected = Self.cases[number]
        let fixture = try ClientFixture([.answer(json: [:])])
        try await expected.call(fixture.client)
        let request = try #require(fixture.transport.requests.first)
        #expect("\(request.method) \(request.target)" == expected.line)
        #expect(request.url.hasPrefix("https://store.example/inApps/"))
        #expect(String(decoding: request.body.buffered ?? [], as: UTF8.self) == expected.body)
        #expect(request.headers["Content-Type"] == (expected.body.isEmpty ? nil : "application/json"))
        #expect(request.headers["Accept"] == "application/json")
        #expect(request.timeout == .seconds(30))
    }

    @Test func `the arguments cover all cases of the table`() { #expect(Self.cases.count == 34) }

    @Test func `an image is sent as a PNG file, with its size`() async throws {
        for (size, query) in [(nil, ""), (.bulletPoint, "?imageSize=BULLET_POINT")]
            as [(AppStoreServerAPI.ImageSize?, String)]
        {
            let fixture = try ClientFixture([.answer(status: 200)])
            try await fixture.client.uploadImage(Self.token, [0x89, 0x50], size: size)
            let request = try #require(fixture.transport.requests.first)
            #expect("\(request.method) \(request.target)" == "PUT /inApps/v1/messaging/image/\(Self.id)\(query)")
            #expect(request.headers["Content-Type"] == "image/png" && request.body.buffered == [0x89, 0x50])
        }
    }

    @Test func `a response has Swift values and keeps unknown members`() async throws {
        let fixture = try ClientFixture([
            .answer(json: ["success": true, "effectiveDate": 1_698_148_900_000, "new": 1.50])
        ])
        let answer = try await fixture.client.extendRenewalDate(of: "12", .init())
        #expect(answer.effectiveDate == Date(timeIntervalSince1970: 1_698_148_900))
        #expect(answer.fields["new"] == 1.50)
    }

    @Test(arguments: [200, 202, 204])
    func `a call without a result accepts a response without a body`(status: Int) async throws {
        let fixture = try ClientFixture([.answer(status: status)])
        try await fixture.client.finish("12")
    }

    @Test(arguments: ["", ".", ".."])
    func `an identifier that cannot be part of a path is not sent`(text: String) async throws {
        let fixture = try ClientFixture([])
        let error = await apiError { try await fixture.client.lookUpOrder(text) }
        #expect(error?.kind == .notAsked)
        #expect(error?.isRetryable == false)
    }

    @Test func `an identifier stays one segment of the path`() async throws {
        let fixture = try ClientFixture([.answer(json: [:])], baseURL: "http://127.0.0.1:8080/apple")
        _ = try await fixture.client.transactionInfo("../a?b#c")
        #expect(
            fixture.transport.requests.first?.url == "http://127.0.0.1:8080/apple/inApps/v1/transactions/..%2Fa%3Fb%23c"
        )
    }
}

/// Bearer tokens.
@Suite struct ClientTokenTests {
    @Test func `a bearer token is replaced a minute before its end`() async throws {
        let fixture = try ClientFixture(Array(repeating: .answer(json: [:]), count: 4))
        for pause in [0, 1139, 0.5, 0.5] as [TimeInterval] {
            fixture.clock.advance(by: pause)
            _ = try await fixture.client.transactionInfo("12")
            #expect(fixture.accepts(try #require(fixture.tokens.last)))
        }
        let tokens = fixture.tokens
        #expect(Set(tokens[0...2]).count == 1)
        #expect(tokens[3] != tokens[0])
    }

    @Test func `a token that was refused is not used again, and the call is not repeated`() async throws {
        let fixture = try ClientFixture([.answer(status: 401), .answer(json: [:])])
        let error = await apiError { try await fixture.client.transactionInfo("12") }
        #expect(error == AppStoreServerAPIError(.refused, "", status: 401))
        #expect(error?.isRetryable == false)
        fixture.clock.advance(by: 1)
        _ = try await fixture.client.transactionInfo("12")
        #expect(Set(fixture.tokens).count == 2)
    }

    @Test func `no request is sent if the key cannot sign`() async throws {
        let fixture = try ClientFixture([], issuer: "")
        let error = await apiError { try await fixture.client.requestTestNotification() }
        #expect(error?.kind == .notAsked)
        #expect(error?.reason.contains("issuer") == true)
    }
}
