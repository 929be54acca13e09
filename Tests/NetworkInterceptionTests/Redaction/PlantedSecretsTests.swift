import Foundation
import HTTPCore
import NetworkInterception
import Primitives
import Testing

/// Sends secrets in all parts of messages, and searches for them in everything that was stored or written.
@Suite struct PlantedSecretsTests {
    private static let header = "eyJhbGciOiJFUzI1NiIsIng1YyI6WyJNSUkiXX0"

    /// A secret with the word PLANTED and a number.
    private static func secret(_ number: Int) -> String { "PLANTED\(number)x" }

    private static let limit = 4096

    /// Requests and their results, with a different secret in each part.
    private static func traffic() -> [(HTTPRequest, Result<HTTPResponse, any Error>)] {
        let jws = "\(header).eyJQTEFOVEVE\(secret(1)).\(secret(2))"
        let receipt = "MII" + String(repeating: "A", count: 80) + secret(3)
        let long =
            "{\"pad\":\"" + String(repeating: "p", count: limit - 34) + "\",\"password\":\"\(secret(4))\(secret(5))\"}"
        let json = """
            {"password":"\(secret(6))","deep":[{"receipt-data":"\(secret(7))","n":1.0}],"jws":"\(jws)","free":"see \(jws)",
             "inner":"{\\"token\\":\\"\(secret(8))\\"}","list":{"signedTransactions":["\(secret(9))"]},"card":{"number":"\(secret(10))"},
             "url":"https://\(secret(11)):\(secret(12))@h/?access_token=\(secret(13))","data":"\(receipt)"}
            """
        let form = "user=a&password=\(secret(14))&next=https%3A%2F%2Fh%2F%3Ftoken%3D\(secret(15))"
        let headers: HTTPHeaders = [
            "Authorization": "Bearer \(secret(16))", "cookie": "a=\(secret(17))", "X-API-KEY": secret(18),
            "Referer": "http://h/?token=\(secret(19))", "X-Free": jws,
        ]
        let url = "http://\(secret(20)):\(secret(21))@a/x?token=\(secret(22))&page=1&X-Amz-Signature=\(secret(23))"
        let answer: HTTPHeaders = [
            "Set-Cookie": "s=\(secret(24)); HttpOnly", "Location": "/y?code=\(secret(25))#id_token=\(secret(26))",
        ]
        func request(_ body: String, _ type: String) -> HTTPRequest {
            var headers = headers
            headers["Content-Type"] = type
            return HTTPRequest(method: .post, url: url, headers: headers, body: .text(body))
        }
        let gzip: HTTPHeaders = ["Content-Encoding": "gzip"]
        return [
            (request(json, "application/json"), .success(.init(status: 200, headers: answer, body: .text(json)))),
            (request(form, "application/x-www-form-urlencoded"), .success(.init(status: 302, headers: answer))),
            (request(long, "application/json"), .success(.init(status: 200, body: .text(long)))),
            (
                request("plain \(jws)", "text/plain"),
                .success(.init(status: 200, headers: gzip, body: .text(secret(27))))
            ),
            (request("", "text/plain"), .failure(HTTPError(.connectionFailed, "\(url) cannot be reached"))),
            (
                request("", "text/plain"),
                .failure(URLError(.badURL, userInfo: ["NSErrorFailingURLStringKey": url]))
            ),
        ]
    }

    private struct Scripted: HTTPTransport {
        let answers: Locked<[Result<HTTPResponse, any Error>]>

        func send(_ request: HTTPRequest) async throws -> HTTPResponse {
            try answers.withLock { $0.removeFirst() }.get()
        }
    }

    private func recorded(in storage: any RecordStorage, redaction: Redaction) async throws -> [Record] {
        let traffic = Self.traffic()
        var configuration = Interceptor.Configuration.standard
        configuration.storage = storage
        configuration.maximumRecordedBytes = Self.limit
        configuration.redaction = redaction
        let interceptor = Interceptor([], configuration: configuration)
        interceptor.run()
        let transport = interceptor.transport(wrapping: Scripted(answers: Locked(traffic.map(\.1))))
        for (request, _) in traffic { _ = try? await transport.send(request) }
        return await storage.records(100, after: nil)
    }

    private func leaks(_ text: String) -> [String] {
        text.matches(of: /PLANTED[0-9]+x/).map { String($0.output) }
    }

    private func texts(_ records: [Record]) -> String {
        func text(_ body: HTTPBody) -> String { String(decoding: body.buffered ?? [], as: UTF8.self) }
        return records.map { record in
            [
                String(describing: record), text(record.originalRequest.body), text(record.designatedRequest.body),
                record.response.map { text($0.body) } ?? "", record.failure.map { String(reflecting: $0) } ?? "",
                record.failure.map { "\(($0 as NSError).userInfo)" } ?? "",
            ].joined(separator: "\n")
        }.joined(separator: "\n")
    }

    private func exports(_ records: [Record]) -> String {
        var exports = [
            String(decoding: HARDocument(records).encoded(), as: UTF8.self),
            String(decoding: PostmanCollection(records, name: "All").encoded(), as: UTF8.self),
        ]
        exports += records.map { CurlCommand($0).text }
        return exports.joined(separator: "\n")
    }

    private let redaction = Redaction.standard.adding(pointers: ["/card/number"])

    @Test func `nothing that is kept in memory or exported has a secret`() async throws {
        let records = try await recorded(in: MemoryRecordStorage(), redaction: redaction)
        #expect(records.count == 6)
        #expect(leaks(texts(records)).isEmpty)
        #expect(leaks(exports(records)).isEmpty)
        #expect(texts(records).contains("\"n\":1.0"), "a value that is not a secret stays")
    }

    @Test func `neither a file of records nor its write-ahead log has a secret`() async throws {
        let place = TemporaryRecords()
        let storage = try SQLiteRecordStorage(path: place.path)
        let records = try await recorded(in: storage, redaction: redaction)
        #expect(records.count == 6)
        #expect(leaks(texts(records)).isEmpty)
        let files = try FileManager.default.contentsOfDirectory(atPath: place.folder)
        #expect(files.contains { $0.hasSuffix("-wal") })
        for file in files {
            let bytes = FileManager.default.contents(atPath: place.folder + "/" + file) ?? Data()
            #expect(leaks(String(decoding: bytes, as: UTF8.self)).isEmpty, "\(file)")
        }
        await storage.close()
    }

    @Test func `without redaction, every secret in the recorded bytes is found`() async throws {
        let records = try await recorded(in: MemoryRecordStorage(), redaction: .none)
        let found = Set(leaks(texts(records)))
        #expect((1...27).map(Self.secret).filter { !found.contains($0) } == [Self.secret(5)])
    }
}
