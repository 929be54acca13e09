import NetworkInterception

final class Bare: Floret {}

final class Stamp: InterceptableFloret, DisplayableFloret, @unchecked Sendable {
    var enabled = true

    func willRequest(_ record: Record) async -> Record {
        var record = record
        record.designatedRequest.headers["X-Stamp"] = record.originalRequest.url
        record.result = nil
        return record
    }

    func didRespond(_ record: Record) async -> Record {
        var record = record
        switch record.result {
        case .success(var response)?:
            response.headers["X-Seen"] = "1"
            record.result = .success(response)
        case .failure(let error)?: record.result = .failure(error)
        case nil: record.result = .success(Response(status: 204))
        }
        return record
    }

    func view(_ interceptor: Interceptor) -> ViewDocument? { ViewDocument(title: "Stamp") }
    func perform(_ action: ViewDocument.Action, in interceptor: Interceptor) async throws {}
}

/// Implements only `enabled`, and uses the defaults of all other requirements.
final class Silent: InterceptableFloret, DisplayableFloret, @unchecked Sendable {
    var enabled = false
}

/// Uses completion handlers.
final class Callbacks: CompletionHandlerFloret, @unchecked Sendable {
    var enabled = true

    func willRequest(_ record: Record, modificationCompletionHandler completionHandler: @escaping (Record) -> Void) {
        completionHandler(record)
    }

    func didRespond(_ record: Record, modificationCompletionHandler completionHandler: @escaping (Record) -> Void) {
        completionHandler(record)
    }
}

final class Nowhere: RecordStorage {
    func store(_ record: Record) async {}
    func records(_ count: Int, after record: Record?) async -> [Record] { [] }
    var updates: AsyncStream<Record> { AsyncStream { $0.finish() } }
}

func watch(_ transport: any HTTPTransport) async throws {
    let plain = Interceptor([])
    let interceptor: Cauli = Interceptor([Bare(), Stamp(), Silent(), Callbacks()], configuration: .standard)
    interceptor.run()
    let watched: any HTTPTransport = interceptor.transport(wrapping: plain.transport(wrapping: transport))
    _ = try await watched.send(HTTPRequest(method: .get, url: "http://127.0.0.1/"))
    interceptor.pause()

    let storage: any RecordStorage = interceptor.storage
    let records: [Record] = await storage.records(20, after: nil)
    let updates: AsyncStream<Record> = storage.updates
    let other: any Storage = Nowhere()
    requireSendable(records, updates, other, records.map(\.id))

    var record = Record(HTTPRequest(method: .get, url: "http://127.0.0.1/"))
    record.originalRequest.method = .post
    record.result = .success(Response(status: 200, headers: ["A": "1"], body: .bytes([1])))
    await storage.store(record)
    requireSendable(RecordSelector.all(), RecordSelector.max(bytesize: 10), RecordSelector { _ in true })
}

func requireSendable<each Value: Sendable>(_ values: repeat each Value) {}
