import AppStorePayloads
import EntitlementServer
import Foundation
import HTTPCore
import Primitives
import StoreModel
import StoreTestSupport
import Testing

/// Successful and failed responses of the App Store.
@Suite struct AnswerTests {
    @Test(
        arguments: [
            (#"{"errorCode":4040010,"errorMessage":"Gone."}"#, 404, 4_040_010, "Gone."),
            (#"{"errorCode":4040010}"#, 404, 4_040_010, "Transaction id not found."),
            (#"{"errorCode":4990001,"errorMessage":"New."}"#, 400, 4_990_001, "New."),
            (#"{"errorMessage":"Numberless."}"#, 403, nil, "status 403"), ("<html>", 404, nil, "status 404"),
            (#"{"errorCode":"text"}"#, 404, nil, "status 404"), ("", 400, nil, "status 400"),
            ("Unauthenticated", 401, nil, "token"),
        ] as [(String, Int, Int?, String)])
    func `a refusal has Apple's error code if the body contains one`(
        body: String, status: Int, code: Int?, words: String
    ) async throws {
        let fixture = try ClientFixture([.answer(HTTPResponse(status: status, body: .text(body)))])
        let error = try #require(await apiError { try await fixture.client.transactionInfo("12") })
        #expect(error.kind == .refused)
        #expect(error.status == status)
        #expect(error.code?.rawValue == code)
        #expect("\(error)".contains(words))
    }

    @Test func `a refusal contains no token and no control characters`() async throws {
        let fixture = try ClientFixture([
            .perform { request in
                let token = (request.headers["Authorization"] ?? "").dropFirst("Bearer ".count)
                let message = "Your\u{1B}[2J token \(token) is odd. " + String(repeating: "x", count: 1000)
                return HTTPResponse(
                    status: 400, json: ["errorCode": 4_000_000, "errorMessage": .string(message)])
            }
        ])
        let error = try #require(await apiError { try await fixture.client.transactionInfo("12") })
        let token = try #require(fixture.tokens.first)
        #expect(!token.isEmpty)
        #expect(!"\(error)".contains(token))
        #expect(!"\(error)".contains("\u{1B}"))
        #expect("\(error)".contains("is odd."))
        #expect("\(error)".count < 300)
    }

    @Test(arguments: ["", "hello", "[]", "null", #"{"signedTransactionInfo":1}"#, #"{"a":1,"a":2}"#])
    func `a malformed successful response is a malformedAnswer error`(body: String) async throws {
        let fixture = try ClientFixture([.answer(HTTPResponse(status: 200, body: .text(body)))])
        let error = try #require(await apiError { try await fixture.client.transactionInfo("12") })
        #expect(error == AppStoreServerAPIError(.malformedAnswer, "", status: 200))
        #expect(error.underlying != nil)
    }

    @Test func `an answer longer than allowed is not read`() async throws {
        let fixture = try ClientFixture([.answer(json: ["signedTransactionInfo": "0123456789"])]) {
            $0.maximumAnswerBytes = 20
        }
        #expect(await apiError { try await fixture.client.transactionInfo("12") }?.kind == .malformedAnswer)
    }

    @Test func `an error without a response contains the error of the transport`() async throws {
        let fixture = try ClientFixture([.failure(.tlsFailed)])
        let error = try #require(await apiError { try await fixture.client.transactionInfo("12") })
        #expect((error.kind, error.status, error.code) == (.unreachable, nil, nil))
        #expect(error.underlying as? HTTPError == HTTPError(.tlsFailed, ""))
    }
}

/// Paged lists.
@Suite struct PageTests {
    private func page(_ items: [String], _ revision: String?, more: Bool?) -> ScriptedTransport.Step {
        .answer(
            json: AppStoreServerAPI.HistoryResponse {
                $0.revision = revision
                $0.hasMore = more
                $0.signedTransactions = items
            }.json)
    }

    @Test func `all pages are read, each with the revision of the previous page and the same query`() async throws {
        let fixture = try ClientFixture([
            page(["a", "b"], "r1", more: true), page([], "r2", more: true), page(["c"], "r3", more: false),
        ])
        var items: [String] = []
        let pages = fixture.client.transactionHistoryPages(of: "12", .init(sort: .ascending), after: "r0")
        for try await item in pages.items { items.append(item) }
        #expect(items == ["a", "b", "c"])
        #expect(
            fixture.transport.requests.map(\.target)
                == ["r0", "r1", "r2"].map {
                    "/inApps/v2/history/12?sort=ASCENDING&revision=\($0)"
                })
    }

    @Test func `a page is requested only when it is read`() async throws {
        let fixture = try ClientFixture([page(["a"], "r1", more: true)])
        for try await page in fixture.client.transactionHistoryPages(of: "12") {
            #expect(page.revision == "r1")
            break
        }
        #expect(fixture.transport.requests.map(\.target) == ["/inApps/v2/history/12"])
    }

    @Test(arguments: [nil, "r1"])
    func `a page that announces a next page without a new token is an error`(revision: String?) async throws {
        let fixture = try ClientFixture([page(["a"], "r1", more: true), page(["b"], revision, more: true)])
        var items: [String] = []
        let error = await apiError {
            for try await item in fixture.client.transactionHistoryPages(of: "12").items { items.append(item) }
        }
        #expect(error?.kind == .malformedAnswer)
        #expect(items == ["a"])
    }

    @Test func `an error ends the pages`() async throws {
        let fixture = try ClientFixture([page(["a"], "r1", more: true), .refusal(.invalidRequestRevision)])
        var pages = fixture.client.transactionHistoryPages(of: "12").makeAsyncIterator()
        #expect(try await pages.next()?.items == ["a"])
        await #expect(throws: AppStoreServerAPIError.self) { try await pages.next() }
        #expect(try await pages.next() == nil)
    }

    @Test func `refunds and notifications come in pages too`() async throws {
        let refunds = try ClientFixture([
            .answer(json: ["hasMore": true, "revision": "r1", "signedTransactions": ["a"]]),
            .answer(json: ["hasMore": false, "revision": "r2", "signedTransactions": ["b"]]),
        ])
        var signed: [String] = []
        for try await item in refunds.client.refundHistoryPages(of: "12").items { signed.append(item) }
        #expect(signed == ["a", "b"])
        #expect(refunds.transport.requests.last?.target == "/inApps/v2/refund/lookup/12?revision=r1")

        let notifications = try ClientFixture([
            .answer(json: ["hasMore": true, "paginationToken": "p1", "notificationHistory": [["signedPayload": "a"]]]),
            .answer(json: ["hasMore": false, "notificationHistory": [["signedPayload": "b"]]]),
        ])
        signed = []
        for try await item in notifications.client.notificationHistoryPages(.init { $0.onlyFailures = true }).items {
            signed.append(item.signedPayload ?? "")
        }
        #expect(signed == ["a", "b"])
        #expect(notifications.transport.requests.last?.target == "/inApps/v1/notifications/history?paginationToken=p1")
        #expect(
            notifications.transport.requests.map { $0.body.buffered }
                == Array(repeating: Array(#"{"onlyFailures":true}"#.utf8), count: 2))
    }
}
