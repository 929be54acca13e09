import Foundation
import HTTPCore
import Primitives

/// A recorded exchange: its request, and a function that returns its response.
struct MockRecording: Sendable {
    /// The path in the folder of the recordings.
    let path: String
    /// The request, whose body is bytes.
    let request: HTTPRequest
    /// The instant of the response, if it is known.
    let recorded: Date?
    let answer: @Sendable () throws -> Result<Response, any Error>
}

extension [MockRecording] {
    /// The recordings that match one request, in the order in which they were made. Recordings in one folder are
    /// numbered in this order. Recordings in several folders, whose requests were different, are sorted by date.
    var inOrder: [MockRecording] {
        let folders = Set(map { ($0.path as NSString).deletingLastPathComponent })
        guard folders.count > 1 else { return self }
        return enumerated().sorted {
            ($0.element.recorded ?? .distantPast, $0.offset) < ($1.element.recorded ?? .distantPast, $1.offset)
        }.map(\.element)
    }
}

/// The file of one recorded exchange. Documentation/Formats.md describes it.
struct MockFile {
    static let format = "souk.mock.1"
    /// The greatest size of a file that is read.
    static let maximumBytes = 64 << 20

    let request: HTTPRequest
    let recorded: Date?
    let result: Result<Response, any Error>

    /// Returns the content of the file. Both bodies must be bytes.
    static func content(_ request: HTTPRequest, _ response: Response, recorded: Date?) -> [UInt8] {
        var file = JSONMembers([("format", .string(format))])
        file["recorded"] = recorded.map { .string(RFC3339.string(from: $0)) }
        file["request"] = .object(
            JSONMembers([("method", .string(request.method.rawValue)), ("url", .string(request.url))])
                .adding(message: request.headers, request.body))
        file["answer"] = .object(
            JSONMembers([("status", .number(response.status))]).adding(message: response.headers, response.body))
        return Array((JSONValue.object(file).text(pretty: true) + "\n").utf8)
    }

    /// Parses a file. Throws `InterceptionError.invalidFile` with the location of the error.
    init(parsing bytes: [UInt8], folder: String) throws {
        let json: JSONValue
        do { json = try JSONValue(parsing: bytes) } catch {
            throw InterceptionError(.invalidFile, "It is not JSON: \(error).", underlying: error)
        }
        let file = try FileValue(json: json, pointer: "").object("format", "recorded", "request", "answer", "failure")
        let format = try file.required("format")
        guard try format.text() == Self.format else { throw format.refusal("must be \"\(Self.format)\"") }
        recorded = try file["recorded"]?.date()
        let reader = MessageReader(folder: folder)
        let sent = try file.required("request").object("method", "url", "headers", "text", "base64", "json", "file")
        let message = try reader.message(sent)
        request = HTTPRequest(
            method: .init(try sent.required("method").text()), url: try sent.required("url").text(),
            headers: message.headers, body: .bytes(message.body))
        if let failure = try file["failure"]?.object("code", "reason") {
            result = .failure(
                HTTPError(
                    .init(rawValue: try failure.required("code").text()),
                    try failure["reason"]?.text() ?? "The recorded exchange failed."))
        } else {
            result = .success(try reader.response(file.required("answer")))
        }
    }
}

/// Reads the messages of a file. Headers are an object, or pairs if a name repeats. The body is `text`, `base64`,
/// `json`, or the name of a `file` in the folder.
struct MessageReader {
    let folder: String

    /// Reads a response. `more` is the name of one more member that is permitted.
    func response(_ value: FileValue, _ more: String = "status") throws -> Response {
        _ = try value.object("status", "headers", "text", "base64", "json", "file", more)
        let message = try message(value)
        return Response(
            status: try value["status"]?.int(100...599) ?? 200, headers: message.headers, body: .bytes(message.body))
    }

    func message(_ value: FileValue) throws -> (headers: HTTPHeaders, body: [UInt8]) {
        var headers = try value["headers"].map(headers) ?? [:]
        let given = ["text", "base64", "json", "file"].compactMap { value[$0] }
        guard given.count <= 1 else { throw value.refusal("must have at most one of text, base64, json, file") }
        var body: [UInt8] = []
        if let text = value["text"] { body = Array(try text.text().utf8) }
        if let base64 = value["base64"] {
            guard let data = Data(base64Encoded: try base64.text()) else { throw base64.refusal("must be base64") }
            body = Array(data)
        }
        if let json = value["json"] {
            body = json.json.encoded()
            if !headers.contains("Content-Type") { headers.add("Content-Type", "application/json") }
        }
        if let file = value["file"] { body = try content(of: file) }
        return (headers, body)
    }

    private func headers(_ value: FileValue) throws -> HTTPHeaders {
        var headers = HTTPHeaders()
        if case .object(let members) = value.json {
            for name in members.keys { headers.add(name, try value.required(name).text()) }
        } else {
            for pair in try value.array() {
                let parts = try pair.array()
                guard parts.count == 2 else { throw pair.refusal("must be a name and a value") }
                headers.add(try parts[0].text(), try parts[1].text())
            }
        }
        do { try headers.validate() } catch { throw value.refusal("must be valid HTTP headers", error) }
        return headers
    }

    private func content(of file: FileValue) throws -> [UInt8] {
        let path = try file.text()
        guard !path.hasPrefix("/"), !path.split(separator: "/").contains(".."), !path.isEmpty else {
            throw file.refusal("must be the path of a file in this folder")
        }
        do {
            if let content = try DurableFile.read("\(folder)/\(path)", upTo: MockFile.maximumBytes) { return content }
        } catch {
            throw file.refusal("cannot be read", error)
        }
        throw file.refusal("is not an existing file")
    }
}

extension JSONMembers {
    fileprivate func adding(message headers: HTTPHeaders, _ body: HTTPBody) -> JSONMembers {
        var members = self
        members["headers"] = .array(headers.fields.map { [.string($0.name), .string($0.value)] })
        if let bytes = body.buffered, !bytes.isEmpty {
            if let text = String(utf8: bytes) {
                members["text"] = .string(text)
            } else {
                members["base64"] = .string(Data(bytes).base64EncodedString())
            }
        }
        return members
    }
}
