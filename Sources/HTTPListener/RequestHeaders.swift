import CMicrohttpd
import HTTPCore

/// The head of a request: decides whether its body may be read.
struct RequestHeaders {
    enum Verdict {
        /// Read the body; its length, if announced.
        case accept(length: Int?)
        /// Read the body, throw it away, then refuse.
        case discard(HTTPProblem)
        /// Refuse at once and close.
        case refuse(HTTPProblem)
    }

    /// `nil` where it is not UTF-8.
    let target: String?
    /// As in the request line: `HTTP/1.1`.
    let version: String
    let headers: HTTPHeaders
    /// Bytes of the request line and the header section.
    let size: Int

    static func read(from connection: MHDConnection) -> HTTPHeaders {
        var headers = HTTPHeaders()
        headers.fields.reserveCapacity(8)
        withUnsafeMutablePointer(to: &headers) { headers in
            _ = MHD_get_connection_values(connection.pointer, .HEADER_KIND, collect, headers)
        }
        return headers
    }

    private static let collect: MHD_KeyValueIterator = { context, _, name, value in
        guard let name, let context else { return .YES }
        let headers = context.assumingMemoryBound(to: HTTPHeaders.self)
        headers.pointee.add(String(cString: name), value.map { String(cString: $0) } ?? "")
        return .YES
    }

    func check(_ limits: HTTPListener.Configuration) -> Verdict {
        if let problem = problem(within: limits) ?? Self.ambiguity(of: headers) { return .refuse(problem) }
        let length = headers["Content-Length"].flatMap { Int($0) }
        guard let length, length > limits.maximumBodyBytes else { return .accept(length: length) }
        // A client that asks first has not begun to send, and one that announces too much will not be heard out.
        let isWaiting = headers["Expect"]?.equalsIgnoringCase("100-continue") ?? false
        return isWaiting || length > limits.maximumDiscardedBytes
            ? .refuse(Self.tooLarge(limits)) : .discard(Self.tooLarge(limits))
    }

    private func problem(within limits: HTTPListener.Configuration) -> HTTPProblem? {
        let limit = limits.maximumHeaderBytes
        // To repair it would make one resource of different targets.
        guard let target else {
            return Self.malformed("The request target is not UTF-8; bytes outside ASCII are percent-encoded.")
        }
        guard target.utf8.count <= limit else {
            return HTTPProblem(
                status: 414, code: "target_too_long", title: "Target too long",
                detail: "The request target is longer than \(limit) bytes.")
        }
        guard size <= limit else {
            return HTTPProblem(
                status: 431, code: "headers_too_large", title: "Headers too large",
                detail: "Request line and headers are longer than \(limit) bytes.")
        }
        guard target.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
            return Self.malformed("The request target contains a space or a control character.")
        }
        guard headers.allSatisfy(\.name.isHTTPToken) else {
            return Self.malformed("A header name must be a token, with the colon right after it.")
        }
        // RFC 9112 section 3.2.
        let hosts = headers.values("Host").count
        guard hosts == 1 || (hosts == 0 && version == "HTTP/1.0") else {
            return Self.malformed("A request has exactly one Host header.", field: "Host")
        }
        return nil
    }

    /// RFC 9112 section 6.3: a message whose length can be read in two ways is refused.
    private static func ambiguity(of headers: HTTPHeaders) -> HTTPProblem? {
        let lengths = headers.values("Content-Length")
        let encodings = headers.values("Transfer-Encoding")
        guard encodings.isEmpty || lengths.isEmpty, encodings.count <= 1, Set(lengths).count <= 1 else {
            return HTTPProblem(
                status: 400, code: "ambiguous_length", title: "Ambiguous length",
                detail: "A request has one Content-Length or one Transfer-Encoding, not several.")
        }
        if let encoding = encodings.first, !encoding.equalsIgnoringCase("chunked") {
            return HTTPProblem(
                status: 501, code: "unsupported", title: "Not supported",
                detail: "The only transfer encoding supported is chunked.")
        }
        return nil
    }

    private static func malformed(_ detail: String, field: String? = nil) -> HTTPProblem {
        HTTPProblem(status: 400, code: "malformed_request", title: "Malformed request", detail: detail, field: field)
    }

    static func tooLarge(_ limits: HTTPListener.Configuration) -> HTTPProblem {
        HTTPProblem(
            status: 413, code: "body_too_large", title: "Body too large",
            detail: "The body is longer than the \(limits.maximumBodyBytes) bytes allowed.")
    }
}

extension HTTPListener.Configuration {
    func response(to problem: HTTPProblem) -> HTTPResponse {
        var response = problem.response
        response.headers.fields += refusalHeaders().fields
        return response
    }
}
