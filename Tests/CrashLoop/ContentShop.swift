import AppStoreSimulator
import Foundation
import HTTPCore
import HostTestSupport
import Primitives
import StoreModel

/// Serves a new version of the content, and records from which byte on each account requests it.
final class ContentShop: HTTPHandler {
    /// The number of bytes that an app requests at once. It is small, so that there are many points for a kill.
    static let piece = 32 << 10

    static let old = ["title": Array("old".utf8)]
    static let new = [
        "title": Array("new".utf8),
        "film.bin": (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 16) },
    ]

    let archive = storedZip(["title": new["title"]!, "folder/film.bin": new["film.bin"]!])
    private let firstBytes = Locked<[String: Int]>([:])
    private let store = Locked<SimulatedAppStore?>(nil)

    /// Creates the archive in a folder from which the store serves it.
    init(folder: String) throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try Data(archive).write(to: URL(fileURLWithPath: folder + "/film.zip"))
    }

    func open(_ store: SimulatedAppStore) { self.store.withLock { $0 = store } }

    /// The parameters of the content in the product list, for one account.
    func parameters(at url: String, for account: String) -> JSONValue {
        .object([
            "type": "RemoteContentFetcher", "URL": .string("\(url)/content/film.zip?\(account)"),
            "size": .number(archive.count), "sha256": .string(Hex.encode(SHA256.hash(archive))),
        ])
    }

    /// Returns the first byte of the account's first request since the last call; `nil` without a request.
    func firstByte(askedBy account: String) -> Int? { firstBytes.withLock { $0.removeValue(forKey: account) } }

    func respond(to request: HTTPRequest) -> HTTPReply {
        if request.target.hasPrefix("/content/"), let account = request.target.split(separator: "?").last {
            let range = request.headers["Range"]?.split(whereSeparator: { "=-".contains($0) })
            let first = range.flatMap { $0.count > 1 ? Int($0[1]) : nil } ?? 0
            firstBytes.withLock { if $0[String(account)] == nil { $0[String(account)] = first } }
        }
        return store.withLock { $0 }?.handler.respond(to: request) ?? .ready(HTTPResponse(status: 503))
    }
}
