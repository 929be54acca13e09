import BaseTestSupport
import Foundation
import HTTPCore
import NetworkInterception
import Primitives
import Testing

/// Random secrets in random documents. No secret is found in records, pages, exports or reports.
///
/// `SOUK_SECRETS` is the number of secrets, and `SOUK_SECRETS_SEED` the first seed.
@Suite struct RandomSecretsTests {
    private static func number(_ name: String) -> Int? { ProcessInfo.processInfo.environment[name].flatMap { Int($0) } }

    /// The seeds, five hundred for each case.
    private static var batches: [Range<Int>] {
        let first = number("SOUK_SECRETS_SEED") ?? 1
        let end = first + (number("SOUK_SECRETS") ?? 1000)
        return stride(from: first, to: end, by: 500).map { $0..<min($0 + 500, end) }
    }

    @Test(arguments: batches)
    func `a random secret at a random place is in no output`(seeds: Range<Int>) async throws {
        let folder = TemporaryRecords()
        let storage = try SQLiteRecordStorage(path: folder.path)
        var failures = 0
        for seed in seeds where failures < 20 {
            var numbers = SeededNumbers(state: UInt64(seed))
            let planted = RandomSecret(with: &numbers)
            var leaks = Self.leaks(of: planted)
            if leaks.isEmpty, seed % 8 == 0 {
                let kept: any RecordStorage = seed % 40 == 0 ? storage : MemoryRecordStorage()
                leaks = try await Self.leaks(of: planted, in: kept)
            }
            if leaks.isEmpty { continue }
            failures += 1
            Issue.record("seed \(seed): \(planted.value) in \(planted.planted): \(leaks.prefix(2))")
        }
        await storage.close()
        for file in try FileManager.default.contentsOfDirectory(atPath: folder.folder) {
            let bytes = FileManager.default.contents(atPath: folder.folder + "/" + file) ?? Data()
            let isFound = String(decoding: bytes, as: UTF8.self).contains(RandomSecret.beginning)
            #expect(!isFound, "\(file)")
        }
    }

    /// The parts of the redacted record that contain the secret, and whether a second redaction changes it.
    private static func leaks(of planted: RandomSecret) -> [String] {
        let record = planted.planted.record(planted.value, digits: planted.digits)
        let redacted = Redaction.standard.redacted(record)
        let texts = SecretCorpusTests.texts(redacted)
        let again = SecretCorpusTests.texts(Redaction.standard.redacted(redacted))
        return texts.filter { planted.isFound(in: $0) }
            + zip(texts, again).filter { $0 != $1 }.map { "\($0) became \($1)" }
    }

    /// The places that contain the secret after its request has passed.
    private static func leaks(of planted: RandomSecret, in storage: any RecordStorage) async throws -> [String] {
        let reports = Locked<[String]>([])
        var configuration = Interceptor.Configuration.standard
        configuration.storage = storage
        configuration.onReport = { report in reports.withLock { $0.append(report.message) } }
        let interceptor = Interceptor([], configuration: configuration)
        interceptor.run()
        interceptor.report(.init(rawValue: "test"), floret: "Test", planted.sentence)
        let example = planted.planted.record(planted.value, digits: planted.digits)
        let network = Answering(result: example.result)
        _ = try? await interceptor.transport(wrapping: network).send(example.originalRequest)
        await interceptor.settled()
        let page = InspectorPage(interceptor)
        defer { page.close() }
        var places: [(String, String)] = []
        for record in await storage.records(1, after: nil) {
            places += SecretCorpusTests.texts(record).map { ("record", $0) }
            places.append(("description", String(describing: record)))
            let har = HARDocument([record]).encoded()
            places.append(("HAR", String(decoding: har, as: UTF8.self)))
            let curl = CurlCommand(record)
            places += [("curl", curl.text)] + TextReadings.all(of: curl.file?.bytes ?? []).map { ("curl", $0) }
            let collection = PostmanCollection([record], name: "All").encoded()
            places.append(("Postman", String(decoding: collection, as: UTF8.self)))
            for path in ["/api/records?limit=1", "/api/records/\(record.id.uuidString)", "/api/state", "/api/export"] {
                places.append((path, try await text(of: path, on: page)))
            }
        }
        let screen = InspectorFloret()
        await screen.refresh(from: storage)
        places.append(("screen", String(describing: screen.view(interceptor))))
        places += reports.withLock { $0.map { ("report", $0) } }
        places += interceptor.reports.map { ("reports", $0.message) }
        #expect(places.count > 10)
        return places.filter { planted.isFound(in: $0.1) }.map { "\($0.0): \($0.1)" }
    }

    private static func text(of path: String, on page: InspectorPage) async throws -> String {
        let request = HTTPRequest(method: .get, url: "http://localhost" + path)
        let response = try await InProcessTransport(page).send(request)
        #expect(response.status == 200, "\(path)")
        return String(decoding: try await response.body.collect(upTo: 8 << 20), as: UTF8.self)
    }

    private struct Answering: HTTPTransport {
        let result: Result<Response, any Error>?

        func send(_ request: HTTPRequest) async throws -> HTTPResponse {
            switch result {
            case .success(let response)?: response
            case .failure(let error)?: throw error
            case nil: HTTPResponse(status: 204)
            }
        }
    }
}
