import Foundation
import HTTPCore
import NetworkInterception
import Primitives
import Testing

/// An app, an interceptor with the florets of a test, and a server, which returns the body of each request by default.
struct FloretScene {
    let interceptor: Interceptor
    let transport: any HTTPTransport
    /// The requests that the server received, with bodies as bytes.
    let arrived = Locked<[HTTPRequest]>([])

    init(
        _ florets: [any Floret],
        server: @escaping @Sendable (HTTPRequest) async -> Response = { request in
            Response(status: 200, headers: ["Content-Type": "text/plain"], body: request.body)
        }
    ) {
        interceptor = Interceptor(florets)
        interceptor.run()
        transport = interceptor.transport(
            wrapping: InProcessTransport(
                AnyHTTPHandler { [arrived] request in
                    .suspended {
                        var request = request
                        guard let body = try? await request.body.collect(upTo: 1 << 24) else {
                            return Response(status: 400)
                        }
                        request.body = .bytes(body)
                        arrived.withLock { [request] in $0.append(request) }
                        return await server(request)
                    }
                }))
    }

    var last: HTTPRequest? { arrived.withLock { $0.last } }

    @discardableResult
    func send(
        _ method: HTTPRequest.Method = .get, _ url: String = "http://a.example/", headers: HTTPHeaders = [:],
        body: HTTPBody = .empty
    ) async throws -> Response {
        try await transport.send(HTTPRequest(method: method, url: url, headers: headers, body: body))
    }

    func perform(
        _ floret: any DisplayableFloret, _ id: String, _ values: JSONObject = [:]
    ) async throws {
        try await floret.perform(.init(id, values: values), in: interceptor)
    }
}

extension HTTPBody {
    static func pieces(_ texts: String...) -> HTTPBody { .stream(HTTPBodyStream(texts.map { Array($0.utf8) })) }

    func text() async throws -> String { String(decoding: try await collect(upTo: 1 << 24), as: UTF8.self) }
}

/// A temporary folder, which is removed with this object.
final class ScratchFolder: Sendable {
    let path: String

    init() throws {
        path = NSTemporaryDirectory() + "/souk-florets-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    @discardableResult
    func write(_ name: String, _ text: String) throws -> String {
        let file = "\(path)/\(name)"
        try FileManager.default.createDirectory(
            atPath: (file as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
        try Data(text.utf8).write(to: URL(fileURLWithPath: file))
        return file
    }

    /// The relative paths of all files in the folder. Each file has a dot in its name.
    func files() -> [String] {
        let all = FileManager.default.enumerator(atPath: path)?.compactMap { $0 as? String } ?? []
        return all.filter { $0.contains(".") }.sorted()
    }

    func text(_ name: String) throws -> String { try String(contentsOfFile: "\(path)/\(name)", encoding: .utf8) }
}
