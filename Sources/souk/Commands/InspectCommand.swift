import CurlTransport
import Foundation
import HTTPCore
import HTTPListener
import NetworkInterception
import Primitives

/// `souk inspect`: serves the inspector's page.
enum InspectCommand {
    static let command = Command(
        words: ["inspect"], summary: "Show recorded traffic in the browser, and send requests again",
        options: [
            .init(name: "port", value: "N", help: "the port of the page; 0, the default, lets the system choose"),
            .init(
                name: "host", value: "ADDRESS",
                help: "the address to listen on (127.0.0.1); other hosts need the token in the page's URL"),
            .init(name: "records", value: "PATH", help: "a file of records from souk intercept or an app, or a HAR"),
            .stopWithParent,
        ],
        details: """
            The first line of standard output is one JSON object: the server's URL and the page's address. This process
            sends the requests that are written on the page. It records them in the file, or in memory if the file is a
            HAR or --records is missing. Records of other processes appear on the page. Stops on SIGTERM and SIGINT.
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

/// A file of records that was named on the command line.
struct RecordsFile: Sendable {
    let storage: any RecordStorage
    private let database: SQLiteRecordStorage?

    /// Throws `UsageError` for a file that does not exist, or is neither a file of records nor a HAR.
    init(_ path: String) async throws {
        guard let file = FileHandle(forReadingAtPath: path), let start = try? file.read(upToCount: 15) ?? Data() else {
            throw UsageError(path: path, "there is no such file, or it cannot be read")
        }
        if start.isEmpty || start == Data("SQLite format 3".utf8) {
            do {
                // Without a limit, so that no record is removed when the file is opened.
                let database = try SQLiteRecordStorage(
                    path: path, capacity: RecordCapacity(records: .max, bytes: .max), following: .milliseconds(250))
                (storage, self.database) = (database, database)
            } catch {
                throw UsageError("\(path): \(error.reason)")
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

/// An inspector's page on its own listener.
final class InspectorService: Sendable {
    /// The page's address, with an access token of 244 random bits unless the host is `127.0.0.1`, `::1` or
    /// `localhost`.
    let address: String
    let page: InspectorPage
    private let listener: ServiceListener

    /// Throws `UsageError` when the address cannot be bound.
    init(
        _ interceptor: Interceptor, title: String = "Traffic", transport: (any HTTPTransport)?, host: String? = nil,
        port: Int = 0
    ) throws {
        var configuration = InspectorPage.Configuration()
        configuration.title = title
        configuration.transport = transport
        var token: String?
        if let host, !["127.0.0.1", "::1", "localhost"].contains(host) {
            let word = (UUID().uuidString + UUID().uuidString).lowercased().filter { $0 != "-" }
            configuration.access = .token(word)
            token = word
        }
        var listening = HTTPListener.Configuration(host: host ?? "127.0.0.1", port: port)
        // The body of a request that is sent again can be long.
        listening.maximumBodyBytes = 8 << 20
        listener = try ServiceListener(listening)
        page = InspectorPage(interceptor, configuration: configuration)
        address = listener.url + "/" + (token.map { "?token=\($0)" } ?? "")
        try listener.open(to: page)
    }

    /// The first line that a command with an inspector prints.
    var announcement: JSONValue { ["listening": .string(listener.url), "inspector": .string(address)] }

    /// Prints the page's address again on standard error, because other output may have scrolled the announcement out
    /// of sight.
    func repeatAddress() { Terminal.note("The inspector was at \(address)") }

    func close() async {
        page.close()
        await listener.close()
    }
}
