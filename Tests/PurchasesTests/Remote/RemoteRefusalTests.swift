import Foundation
import HTTPCore
import Primitives
import Purchases
import StoreTestSupport
import Testing

/// The plugin's errors. Each failure is a row of the table in Documentation/RemotePlugin.md.
@Suite(.timeLimit(.minutes(1))) struct RemoteRefusalTests {
    private let backend = RemoteBackend()

    struct Row: CustomTestStringConvertible, Sendable {
        let failure: String
        let code: String
        let isRetryable: Bool
        let isAskedElsewhere: Bool

        var testDescription: String { failure }
    }

    static func rows() throws -> [Row] {
        try Chapter.table(under: "What goes wrong").map { cells in
            Row(
                failure: cells[0], code: cells[1].trimmingCharacters(in: ["`"]), isRetryable: cells[2] == "yes",
                isAskedElsewhere: cells[3] == "yes")
        }
    }

    /// The responses for each row of the table.
    private static let failures: [String: [ScriptedTransport.Step]] = [
        "400, 413, 422": [400, 413, 422].map { .answer(status: $0) },
        "401": [.answer(status: 401)],
        "403": [.answer(status: 403)],
        "404, 409, any other below 500": [302, 404, 409, 418].map { .answer(status: $0) },
        "429": [.answer(status: 429)],
        "501": [.answer(status: 501)],
        "any other from 500 on": [500, 502, 503, 599].map { .answer(status: $0) },
        "no connection, a broken connection, a timeout": [
            HTTPError.Code.timeout, .hostNotFound, .connectionFailed, .noAnswer, .connectionLost, .tlsFailed,
        ].map { .fail(HTTPError($0, "Down.")) },
        "an answer that is not HTTP, or too long": [HTTPError.Code.protocolError, .bodyTooLarge].map {
            .fail(HTTPError($0, "Odd."))
        },
        "an answer that is not JSON, or has another form": [
            .answer(HTTPResponse(status: 200, body: .text("<html>"))),
            .answer(HTTPResponse(status: 200, body: .text("{\"features\": [{\"quan"))),
            .answer(status: 200), .answer(json: ["features": [7]]), .answer(json: [:]),
        ],
    ]

    @Test func `each failure has the code and the retries of its row`() async throws {
        for row in try Self.rows() {
            for step in try #require(Self.failures[row.failure], "\(row.failure)") {
                let (plugin, transport) = try await backend.plugin(
                    row.isAskedElsewhere ? [step, backend.features()] : [step]
                ) { $0.otherURLs = ["http://other"] }
                let answers = plugin.answers
                if row.isAskedElsewhere {
                    _ = try await plugin.getFeatures()
                    #expect(transport.requests.last?.url == "http://other/feature-provisioner/get-features")
                    #expect(await answers.first { _ in true }?.address == "http://other")
                }
                let (alone, _) = try await backend.plugin([step])
                let error = await #expect(throws: PurchaseError.self) { try await alone.getFeatures() }
                #expect(error?.code.rawValue == row.code && error?.isRetryable == row.isRetryable, "\(row.failure)")
                if !row.isAskedElsewhere {
                    await #expect(throws: PurchaseError.self) { try await plugin.getFeatures() }
                    #expect(await answers.first { _ in true }?.error?.code.rawValue == row.code)
                }
            }
        }
    }

    @Test func `the chapter lists exactly the failures of these tests`() throws {
        #expect(Set(try Self.rows().map(\.failure)) == Set(Self.failures.keys))
    }

    @Test func `a retryable request is repeated, with pauses`() async throws {
        let naps = Locked<[Duration]>([])
        let (plugin, _) = try await backend.plugin([
            .answer(status: 503), .fail(HTTPError(.connectionLost, "Gone.")), backend.features(),
        ]) {
            $0.backoff = Backoff(attempts: 3, initial: .seconds(1))
            $0.random = { 1 }
            $0.sleep = { nap in naps.withLock { $0.append(nap) } }
        }
        _ = try await plugin.getFeatures()
        #expect(naps.withLock { $0 } == [.seconds(1), .seconds(2)])
    }

    @Test func `neither key nor user is in an error`() async throws {
        let problem = HTTPProblem(
            status: 422, code: "invalid_field", title: "Refused", detail: "The key pk_secret may not.")
        let (plugin, _) = try await backend.plugin([.answer(problem.response)])
        let error = await #expect(throws: PurchaseError.self) { try await plugin.getFeatures() }
        let text = "\(String(describing: error)) \(String(reflecting: error?.underlying))"
        #expect(text.contains("may not") && !text.contains("pk_secret") && !text.contains("ada"))
    }
}
