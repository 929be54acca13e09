import Foundation
import HTTPCore
import Primitives

/// A `record.json` that the MockFloret of Cauli wrote, with its bodies in files beside it.
struct CauliRecording {
    let root: String
    let file: String

    /// Reads the exchange. Cauli stores the start of the request in seconds since 2001.
    func recording() throws -> MockRecording {
        let json = try json()
        let designated = try json.required("designatedRequest")
        let headers = try designated["allHTTPHeaderFields"].map(headers) ?? [:]
        let request = HTTPRequest(
            method: .init(try designated["httpMethod"]?.text() ?? "GET"), url: try designated.required("url").text(),
            headers: headers, body: .bytes(try designated["bodyFilename"].map(content) ?? []))
        let started = json["requestStarted"]?.json.doubleValue.map(Date.init(timeIntervalSinceReferenceDate:))
        let recording = MockRecording(path: file, request: request, recorded: started) { try result(self.json()) }
        return recording
    }

    private func result(_ json: FileValue) throws -> Result<Response, any Error> {
        let result = try json.required("result")
        if let code = result["code"] {
            let domain = try result["domain"]?.text() ?? ""
            return .failure(
                HTTPError(
                    .connectionFailed, "The recorded request failed (\(domain) \(try code.int(Int.min...Int.max)))."))
        }
        let answer = try result.required("urlResponseRepresentable").required("httpURLResponse")
        return .success(
            Response(
                status: try answer.required("statusCode").int(100...599),
                headers: try answer["headerFields"].map(headers) ?? [:],
                body: .bytes(try result["dataFilename"].map(content) ?? [])))
    }

    private func headers(_ value: FileValue) throws -> HTTPHeaders {
        guard case .object(let members) = value.json else { throw value.refusal("must be an object") }
        return HTTPHeaders(try members.keys.map { .init(name: $0, value: try value.required($0).text()) })
    }

    private func json() throws -> FileValue {
        let bytes = try read("record.json")
        do {
            return FileValue(json: try JSONValue(parsing: bytes), pointer: "\(root)/\(file): ")
        } catch {
            throw InterceptionError(.invalidFile, "\(root)/\(file) is not JSON: \(error).", underlying: error)
        }
    }

    private func content(_ name: FileValue) throws -> [UInt8] {
        guard try !name.text().contains("/") else { throw name.refusal("must be the name of a file in this folder") }
        return try read(name.text())
    }

    private func read(_ name: String) throws -> [UInt8] {
        let path = "\(root)/\(file.dropLast("record.json".count))\(name)"
        do {
            if let bytes = try DurableFile.read(path, upTo: MockFile.maximumBytes) { return bytes }
        } catch {
            throw InterceptionError(.storageFailed, "The recording \(path) cannot be read.", underlying: error)
        }
        throw InterceptionError(.storageFailed, "The recording \(path) does not exist.")
    }
}
