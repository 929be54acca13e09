import AppStoreSimulator
import BaseTestSupport
import CurlTransport
import Foundation
import HTTPCore
import HostTestSupport
import NetworkTestSupport
import Primitives
import StoreModel
import ZipExtraction

@testable import InAppStore

/// The simulator's content server on a real socket, with injected failures, and the folder of a device.
final class ContentScene: Sendable {
    /// Replaces the response to one request.
    typealias Fault = @Sendable (HTTPRequest, any HTTPHandler) async -> HTTPResponse

    let folder = NSTemporaryDirectory() + "souk-content-\(UUID().uuidString)"
    let requests = CallLog<HTTPHeaders>()
    private let faults = Locked<[Fault]>([])
    private let address = Locked("")

    static let film = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 16) }
    static let archive = storedZip(["film/look.lut": film, "read.me": Array("version 1".utf8)])

    /// Runs `body` with the film's archive on the server.
    static func run(_ body: (ContentScene) async throws -> Void) async throws {
        let scene = ContentScene()
        defer { try? FileManager.default.removeItem(atPath: scene.folder) }
        try FileManager.default.createDirectory(atPath: scene.folder + "/served", withIntermediateDirectories: true)
        try scene.serve(archive)
        let content = try ContentFolder(scene.folder + "/served")
        let handler = AnyHTTPHandler { request in
            scene.requests.record(request.headers)
            let fault = scene.faults.withLock { $0.isEmpty ? nil : $0.removeFirst() }
            guard let fault else { return content.respond(to: request) }
            return .suspended { await fault(request, content) }
        }
        try await withLoopbackServer(handler) { url in
            scene.address.withLock { $0 = url }
            try await body(scene)
        }
    }

    var url: String { address.withLock { $0 } + "/content/film.zip" }
    var kept: String { folder + "/kept" }

    func serve(_ bytes: [UInt8]) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: folder + "/served/film.zip"), options: .atomic)
    }

    /// Applies these faults to the next requests, in order.
    func next(_ faults: Fault...) { self.faults.withLock { $0 += faults } }

    func parameters(_ more: JSONObject = [:]) -> JSONObject {
        ["type": "BZRRemoteContentFetcher", "URL": .string(url)].merging(more) { $1 }
    }

    /// Returns a fetcher whose pauses take no time, and whose idle timeout never expires.
    func fetcher(
        piece: Int = 64 << 10, attempts: Int = 4, transport: (any HTTPTransport)? = nil,
        change: (inout RemoteContentFetcher.Configuration) -> Void = { _ in }
    ) -> RemoteContentFetcher {
        var configuration = RemoteContentFetcher.Configuration()
        configuration.piece = piece
        configuration.backoff = Backoff(attempts: attempts, initial: .seconds(1), maximum: .seconds(5))
        configuration.sleep = { [idleTimeout = configuration.idleTimeout] duration in
            if duration == idleTimeout { try await Gate().pass() }
        }
        configuration.random = { 0 }
        change(&configuration)
        return RemoteContentFetcher(transport: transport ?? Self.streaming(), configuration: configuration)
    }

    /// Returns a transport that delivers the received bytes even if the body is incomplete.
    private static func streaming() -> any HTTPTransport {
        var configuration = CurlTransport.Configuration()
        configuration.maximumBufferedBytes = 0
        return CurlTransport(configuration: configuration)
    }

    /// Returns a new library on the same folder, as in the app's next run.
    func library(
        _ fetchers: [any ContentFetcher]? = nil, extractor: (any ArchiveExtractor)? = ZipExtractor()
    ) -> ContentLibrary {
        ContentLibrary(folder: kept, fetchers: fetchers ?? [fetcher(), LocalContentFetcher()], extractor: extractor)
    }

    /// Creates a folder with these files outside the library.
    func makeFolder(_ files: [String: String], named name: String = "source") throws -> String {
        let path = "\(folder)/\(name)"
        for (name, text) in files {
            let file = URL(fileURLWithPath: "\(path)/\(name)")
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(text.utf8).write(to: file)
        }
        return path
    }

    /// Returns the parameters of content that is on the device.
    static func local(_ path: String, _ more: JSONObject = [:]) -> JSONObject {
        ["type": "BZRLocalContentFetcher", "URL": .string(URL(fileURLWithPath: path).absoluteString)]
            .merging(more) { $1 }
    }

    /// Returns the content of the files in a folder, by path.
    static func files(_ folder: String?) -> [String: [UInt8]] {
        guard let folder, let names = FileManager.default.enumerator(atPath: folder) else { return [:] }
        var files: [String: [UInt8]] = [:]
        for case let name as String in names {
            if let data = FileManager.default.contents(atPath: folder + "/" + name) { files[name] = Array(data) }
        }
        return files
    }

    static func isFilm(_ folder: String?) -> Bool {
        files(folder) == ["film/look.lut": film, "read.me": Array("version 1".utf8)]
    }
}

extension ContentScene {
    /// Ends the connection after this number of bytes of the body.
    static func cut(after count: Int, ignoringRange: Bool = false) -> Fault {
        { request, content in
            var request = request
            if ignoringRange { request.headers["Range"] = nil }
            var answer = await content.respond(to: request).response()
            let bytes = (try? await answer.body.collect(upTo: 1 << 24)) ?? []
            let rest = Locked([Array(bytes.prefix(count))][...])
            answer.body = .stream(
                HTTPBodyStream(length: bytes.count) {
                    guard let chunk = rest.withLock({ $0.popFirst() }) else { throw HTTPError(.bodyFailed, "Cut.") }
                    return chunk
                })
            return answer
        }
    }

    static func status(_ status: Int, _ headers: HTTPHeaders = [:]) -> Fault {
        { _, _ in HTTPResponse(status: status, headers: headers, body: .text("<h1>No</h1>")) }
    }

    /// Changes the real response.
    static func changed(
        _ change: @escaping @Sendable (inout HTTPRequest) -> Void = { _ in },
        _ answer: @escaping @Sendable (inout HTTPResponse) -> Void
    ) -> Fault {
        { request, content in
            var request = request
            change(&request)
            var response = await content.respond(to: request).response()
            answer(&response)
            return response
        }
    }

    static let ignoringRange = changed({ $0.headers["Range"] = nil }, { _ in })
}

extension AsyncThrowingStream<ContentProgress, any Error> {
    /// Returns all progress, to the end.
    func all() async throws -> [ContentProgress] {
        var all: [ContentProgress] = []
        for try await progress in self { all.append(progress) }
        return all
    }
}
