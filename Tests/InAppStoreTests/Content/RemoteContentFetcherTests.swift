import BaseTestSupport
import Foundation
import HTTPCore
import HostTestSupport
import Primitives
import StoreModel
import Testing

@testable import InAppStore

/// Downloads from the simulator's content server over a real socket.
@Suite(.timeLimit(.minutes(2)))
struct RemoteContentFetcherTests {
    private static let size = ContentScene.archive.count

    @Test func `an archive is downloaded in pieces, with progress in bytes, and unpacked`() async throws {
        try await ContentScene.run { scene in
            let library = scene.library()
            let reported = try await library.fetch("film", parameters: scene.parameters()).all()
            #expect(reported.map(\.received) == reported.map(\.received).sorted())
            #expect(reported.dropLast().allSatisfy { $0.total == Int64(Self.size) && !$0.isComplete })
            #expect(reported.last?.received == Int64(Self.size) && reported.last?.isComplete == true)
            #expect(
                reported.last?.location == library.location(of: "film") && ContentScene.isFilm(reported.last?.location))
            #expect(scene.requests.all.count == 5, "300,000 bytes are five pieces of 64 KiB.")
            #expect(scene.requests.all[0]["If-Range"] == nil)
            #expect(scene.requests.all.dropFirst().allSatisfy { $0["If-Range"]?.hasPrefix("\"") == true })
            await library.close()
        }
    }

    @Test(arguments: [0, 1, 1000, 65_535, 65_536, 200_000, 300_000])
    func `a broken download is resumed after its last received byte`(byte: Int) async throws {
        try await ContentScene.run { scene in
            scene.next(ContentScene.cut(after: byte))
            let library = scene.library([scene.fetcher(piece: 1 << 20)])
            let reported = try await library.fetch("film", parameters: scene.parameters()).all()
            #expect(ContentScene.isFilm(reported.last?.location))
            let ranges = scene.requests.all.map { $0["Range"] }
            #expect(ranges.count == 2 && ranges[1]?.hasPrefix("bytes=\(byte)-") == true)
            await library.close()
        }
    }

    @Test func `received bytes are used in the next run if the version is the same`() async throws {
        try await ContentScene.run { scene in
            let refused = scene.library([scene.fetcher(piece: 1 << 20, attempts: 1)])
            scene.next(ContentScene.cut(after: 123_456))
            await #expect(throws: PurchaseError(.contentFetchFailed, "")) {
                try await refused.fetch("film", parameters: scene.parameters()).all()
            }
            await refused.close()
            let next = scene.library()
            let reported = try await next.fetch("film", parameters: scene.parameters()).all()
            #expect(reported.first?.received == 123_456 && ContentScene.isFilm(reported.last?.location))
            #expect(scene.requests.all[1]["Range"]?.hasPrefix("bytes=123456-") == true)
            #expect(scene.requests.all[1]["If-Range"] != nil)
            await next.close()
        }
    }

    @Test func `a file that changes during a download is fetched again from its first byte`() async throws {
        try await ContentScene.run { scene in
            let second = storedZip(["read.me": Array("version 2".utf8)])
            scene.next(
                ContentScene.cut(after: 100_000),
                { request, content in
                    try? scene.serve(second)
                    return await content.respond(to: request).response()
                })
            let library = scene.library([scene.fetcher(piece: 1 << 20)])
            let reported = try await library.fetch("film", parameters: scene.parameters()).all()
            #expect(ContentScene.files(reported.last?.location) == ["read.me": Array("version 2".utf8)])
            await library.close()
        }
    }

    @Test func `parts of another version restart the download`() async throws {
        try await ContentScene.run { scene in
            scene.next(
                ContentScene.cut(after: 100_000),
                ContentScene.changed({ $0.headers["If-Range"] = nil }, { $0.headers["ETag"] = "\"other\"" }))
            let library = scene.library([scene.fetcher(piece: 1 << 20)])
            let reported = try await library.fetch("film", parameters: scene.parameters()).all()
            #expect(ContentScene.isFilm(reported.last?.location))
            #expect(scene.requests.all.last?["Range"]?.hasPrefix("bytes=0-") == true)
            await library.close()
        }
    }

    @Test func `without ranges on the server each attempt requests the whole file`() async throws {
        try await ContentScene.run { scene in
            scene.next(ContentScene.cut(after: 70_000, ignoringRange: true), ContentScene.ignoringRange)
            let library = scene.library()
            let reported = try await library.fetch("film", parameters: scene.parameters()).all()
            #expect(ContentScene.isFilm(reported.last?.location) && scene.requests.all.count == 2)
            #expect(reported.last?.received == Int64(Self.size))
            await library.close()
        }
    }

    @Test(
        arguments: [
            ContentScene.changed { $0.headers["Content-Range"] = "bytes 7-65542/\($0.body.length ?? 0)" },
            ContentScene.changed { $0.headers["Content-Range"] = "bytes 0-65535/*" },
            ContentScene.changed { $0.headers["Content-Range"] = "bytes 0-99/999999" },
            ContentScene.changed { $0.headers["Content-Range"] = nil },
            ContentScene.changed { $0.headers["Content-Range"] = "pages 1-2/3" },
            ContentScene.changed {
                $0.headers["ETag"] = nil
                $0.headers["Last-Modified"] = nil
            },
            ContentScene.status(416, ["Content-Range": "bytes */300000"]), ContentScene.status(416),
        ] as [ContentScene.Fault])
    func `if the server's ranges are invalid the whole file is requested`(fault: @escaping ContentScene.Fault)
        async throws
    {
        try await ContentScene.run { scene in
            scene.next(fault)
            let library = scene.library()
            let reported = try await library.fetch("film", parameters: scene.parameters()).all()
            #expect(ContentScene.isFilm(reported.last?.location))
            #expect(scene.requests.all.count == 2 && scene.requests.all[1]["Range"] == nil)
            await library.close()
        }
    }

    @Test(arguments: [408, 429, 500, 502, 503, 504])
    func `a request to a busy server is repeated after the backoff or its Retry-After`(status: Int) async throws {
        try await ContentScene.run { scene in
            let pauses = CallLog<Duration>()
            let fetcher = scene.fetcher { configuration in
                let sleep = configuration.sleep
                configuration.sleep = {
                    if $0 < .seconds(60) { pauses.record($0) }
                    try await sleep($0)
                }
            }
            scene.next(ContentScene.status(status), ContentScene.status(status, ["Retry-After": "3"]))
            let library = scene.library([fetcher])
            let reported = try await library.fetch("film", parameters: scene.parameters()).all()
            #expect(ContentScene.isFilm(reported.last?.location))
            #expect(pauses.all == [.milliseconds(500), .seconds(3)])
            await library.close()
        }
    }

    @Test(arguments: [204, 301, 302, 307, 401, 403, 404, 410, 501])
    func `a refusal is reported with its status and without the URL's secrets`(status: Int) async throws {
        try await ContentScene.run { scene in
            scene.next(ContentScene.status(status, ["Location": scene.url]))
            let library = scene.library()
            let parameters = scene.parameters(["URL": .string(scene.url + "?token=TOPSECRET")])
            let error = await #expect(throws: PurchaseError.self) {
                try await library.fetch("film", parameters: parameters).all()
            }
            #expect(error?.code == .contentFetchFailed && error?.reason.contains("\(status)") == true)
            #expect(!"\(error as Any)".contains("TOPSECRET") && scene.requests.all.count == 1)
            #expect(library.location(of: "film") == nil)
            await library.close()
        }
    }

    @Test func `a download without new bytes fails after some attempts`() async throws {
        try await ContentScene.run { scene in
            for _ in 0..<4 { scene.next(ContentScene.cut(after: 0)) }
            let library = scene.library()
            let error = await #expect(throws: PurchaseError.self) {
                try await library.fetch("film", parameters: scene.parameters(["token": "x"])).all()
            }
            #expect(error?.code == .contentFetchFailed && scene.requests.all.count == 4)
            await library.close()
        }
    }

    @Test func `a request without further bytes times out and is repeated`() async throws {
        try await ContentScene.run { scene in
            let (silence, idleTimeout, isLeft) = (Gate(), Gate(), Locked(false))
            scene.next({ request, content in
                var answer = await content.respond(to: request).response()
                let length = answer.body.length
                answer.body = .stream(
                    HTTPBodyStream(length: length) {
                        idleTimeout.open()
                        try await silence.pass()
                        return nil
                    })
                return answer
            })
            let fetcher = scene.fetcher { configuration in
                configuration.sleep = { pause in
                    guard pause == .seconds(60) else { return isLeft.withLock { $0 = true } }
                    try await (isLeft.withLock { $0 } ? Gate() : idleTimeout).pass()
                }
            }
            let library = scene.library([fetcher])
            let fetching = Task { try await library.fetch("film", parameters: scene.parameters()).all() }
            await scene.requests.wait { $0.count > 1 }
            silence.open()
            fetching.cancel()
            _ = await fetching.result
            await library.close()
        }
    }

    @Test func `an archive with another size or digest is refused`() async throws {
        try await ContentScene.run { scene in
            let digest = Hex.encode(SHA256.hash(ContentScene.archive))
            let library = scene.library()
            let wrong: [JSONObject] = [
                ["size": .number(Self.size + 1)], ["size": 17], ["sha256": .string(String(repeating: "0", count: 64))],
            ]
            for expectation in wrong {
                await #expect(throws: PurchaseError(.contentMismatch, "")) {
                    try await library.fetch("film", parameters: scene.parameters(expectation)).all()
                }
                #expect(library.downloaded == [])
            }
            let right: JSONObject = ["size": .number(Self.size), "sha256": .string(digest.uppercased())]
            let reported = try await library.fetch("film", parameters: scene.parameters(right)).all()
            #expect(ContentScene.isFilm(reported.last?.location))
            await library.close()
        }
    }

    @Test func `a file over the size limit is refused, also if its length is not announced`() async throws {
        try await ContentScene.run { scene in
            let library = scene.library([scene.fetcher { $0.maximumBytes = 100_000 }])
            await #expect(throws: PurchaseError(.contentMismatch, "")) {
                try await library.fetch("film", parameters: scene.parameters()).all()
            }
            scene.next(
                ContentScene.changed({ $0.headers["Range"] = nil }) { answer in
                    guard case .stream(let stream) = answer.body else { return }
                    answer.body = .stream(HTTPBodyStream(length: nil) { try await stream.next() })
                })
            await #expect(throws: PurchaseError(.contentMismatch, "")) {
                try await library.fetch("film", parameters: scene.parameters()).all()
            }
            await library.close()
        }
    }

    @Test func `a response without a length ends with its last byte`() async throws {
        try await ContentScene.run { scene in
            scene.next(
                ContentScene.changed({ $0.headers["Range"] = nil }) { answer in
                    guard case .stream(let stream) = answer.body else { return }
                    answer.body = .stream(HTTPBodyStream(length: nil) { try await stream.next() })
                })
            let library = scene.library()
            let reported = try await library.fetch("film", parameters: scene.parameters()).all()
            #expect(ContentScene.isFilm(reported.last?.location) && reported.last?.total == Int64(Self.size))
            await library.close()
        }
    }

    @Test func `a transport that collects responses downloads content in pieces too`() async throws {
        try await ContentScene.run { scene in
            let library = scene.library([scene.fetcher(transport: URLSessionTransport())])
            let reported = try await library.fetch("film", parameters: scene.parameters()).all()
            #expect(ContentScene.isFilm(reported.last?.location) && Set(reported.map(\.received)).count > 4)
            await library.close()
        }
    }
}
