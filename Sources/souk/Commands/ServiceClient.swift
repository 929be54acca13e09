import CurlTransport
import Foundation
import HTTPCore
import Primitives
import StoreModel

/// A client of Souk's own HTTP services, which turns error responses into sentences.
struct ServiceClient: Sendable {
    let url: String
    var headers: HTTPHeaders = [:]
    var transport: any HTTPTransport = CurlTransport.platformDefault()

    /// The largest response; the whole state of a store can be long.
    private static let answerLimit = 256 << 20

    struct Answer: Sendable {
        let status: Int
        let headers: HTTPHeaders
        let json: JSONValue
        let bytes: [UInt8]
    }

    /// Sends a request and returns the response, whatever its status. Throws `Failure` when there is none.
    func send(
        _ method: HTTPRequest.Method, _ path: String, _ body: JSONValue? = nil, timeout: Duration = .seconds(10)
    ) async throws -> Answer {
        var request = HTTPRequest(method: method, url: url + path, headers: headers, timeout: timeout)
        if let body {
            request.headers["Content-Type"] = "application/json"
            request.body = .json(body)
        }
        do {
            let response = try await transport.send(request)
            let bytes = try await response.body.collect(upTo: Self.answerLimit)
            let json = bytes.isEmpty ? .null : (try? JSONValue(parsing: bytes)) ?? .null
            return Answer(status: response.status, headers: response.headers, json: json, bytes: bytes)
        } catch let error as HTTPError {
            throw Failure("\(url.urlWithoutSecrets) cannot be reached: \(error.reason)")
        }
    }

    /// Sends a request and returns the decoded body of a success. Throws `Failure` with the service's sentence for an
    /// error response.
    func ask<Value: Decodable>(
        _ method: HTTPRequest.Method, _ path: String, _ body: (any Encodable)? = nil, as type: Value.Type,
        timeout: Duration = .seconds(10)
    ) async throws -> Value {
        let answer = try await send(
            method, path, try body.map { try WireJSON.document($0) }, timeout: timeout)
        guard (200..<300).contains(answer.status) else {
            throw Failure(
                answer.json["detail"]?.stringValue
                    ?? "\(url.urlWithoutSecrets)\(path) answered with status \(answer.status)")
        }
        do {
            return answer.json.isNull
                ? try WireJSON.decode(type, from: answer.bytes) : try WireJSON.decode(type, from: answer.json)
        } catch {
            throw Failure(
                "\(url.urlWithoutSecrets)\(path) answered in a form that this version does not know: \(error)")
        }
    }
}
