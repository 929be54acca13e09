import CurlTransport
import Foundation
import HTTPCore
import HTTPListener
import NetworkInterception
import Primitives

/// `souk inspect`: the inspector's page in a process of its own.
enum InspectCommand {
    static let command = Command(
        words: ["inspect"], summary: "look at recorded traffic in a browser, and send requests again",
        options: [
            .init(name: "port", value: "N", help: "where the page is; 0, the default, lets the system choose"),
            .init(
                name: "host", value: "ADDRESS",
                help: "listen there instead of on 127.0.0.1; for others only with the token in the page's address"),
            .init(name: "records", value: "PATH", help: "show these: a file of souk intercept or of an app, or a HAR"),
            .stopWithParent,
        ],
        details: """
            The first line of standard output is one JSON object: where it listens, and the address of the page. Requests that
            are written on the page are sent from here; they are recorded in the file, or for a HAR and without --records in
            memory. What another process records meanwhile appears on the page. It stops on SIGTERM and SIGINT.
            """
    ) { arguments in
        let stop = try StopSignal(alsoAtEndOfInput: arguments.has("stop-with-parent"))
        var file: RecordsFile?
        if let path = arguments.text("records") { file = try await RecordsFile(path) }
        var configuration = Interceptor.Configuration.standard
        configuration.storage = file?.storage
        let interceptor = Interceptor([], configuration: configuration)
        interceptor.run()
        let service = try InspectorService(
            interceptor, transport: CurlTransport.platformDefault(),
            host: arguments.text("host"), port: try arguments.integer("port", in: 0...65535) ?? 0)
        let announced = Terminal.announce(service.announcement)
        if announced.isWritten {
            await stop.wait()
            service.repeatAddress()
        }
        await service.close()
        await file?.close()
        try announced.check()
        return .success
    }
}

/// Records that a person named on the command line.
struct RecordsFile: Sendable {
    let storage: any RecordStorage
    private let database: SQLiteRecordStorage?

    /// Throws `Misuse` for a file that is not there, or is neither a file of records nor a HAR.
    init(_ path: String) async throws {
        guard let file = FileHandle(forReadingAtPath: path), let start = try? file.read(upToCount: 15) ?? Data() else {
            throw Misuse(path: path, "there is no such file, or it cannot be read")
        }
        if start.isEmpty || start == Data("SQLite format 3".utf8) {
            do {
                // What is looked at is not to go because of it.
                let database = try SQLiteRecordStorage(
                    path: path, capacity: RecordCapacity(records: .max, bytes: .max), following: .milliseconds(250))
                (storage, self.database) = (database, database)
            } catch {
                throw Misuse("\(path): \(error.reason)")
            }
            return
        }
        let archive = try HARCommands.read(path)
        for warning in archive.warnings { Terminal.note("warning: \(path) \(warning.pointer): \(warning.reason)") }
        let memory = MemoryRecordStorage(capacity: RecordCapacity(records: .max, bytes: .max))
        for record in archive.records { await memory.store(Redaction.standard.redactedAsDecoded(record)) }
        (storage, database) = (memory, nil)
    }

    func close() async { await database?.close() }
}

/// An inspector's page on a listener of its own.
final class InspectorService: Sendable {
    /// The page's address, with the token that it needs where others can reach it.
    let address: String
    let page: InspectorPage
    private let listener: ServiceListener

    /// Throws `Misuse` when the address cannot be listened on.
    init(
        _ interceptor: Interceptor, title: String = "Traffic", transport: (any HTTPTransport)?, host: String? = nil,
        port: Int = 0
    ) throws {
        var configuration = InspectorPage.Configuration()
        configuration.title = title
        configuration.transport = transport
        var token: String?
        if let host, !["127.0.0.1", "::1", "localhost"].contains(host) {
            // 244 random bits.
            let word = (UUID().uuidString + UUID().uuidString).lowercased().filter { $0 != "-" }
            configuration.access = .token(word)
            token = word
        }
        var listening = HTTPListener.Configuration(host: host ?? "127.0.0.1", port: port)
        // A request that is sent again may have a long body.
        listening.maximumBodyBytes = 8 << 20
        listener = try ServiceListener(listening)
        page = InspectorPage(interceptor, configuration: configuration)
        address = listener.url + "/" + (token.map { "?token=\($0)" } ?? "")
        listener.open(to: page)
    }

    /// The first line that a command with an inspector prints.
    var announcement: JSONValue { ["listening": .string(listener.url), "inspector": .string(address)] }

    /// Says where the page was, on standard error: what came since has moved the announcement out of sight.
    func repeatAddress() { Terminal.note("The inspector was at \(address)") }

    func close() async {
        page.close()
        await listener.close()
    }
}
