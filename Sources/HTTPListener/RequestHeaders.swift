import CMicrohttpd
import HTTPCore

/// The head of a request, and the decision whether its body is read.
struct RequestHeaders {
    enum Verdict {
        /// Read the body, which has the given length if the request states one.
        case accept(length: Int?)
        /// Read and discard the body, then send the error response.
        case discard(HTTPProblem)
        /// Send the error response at once and close the connection.
        case refuse(HTTPProblem)
    }

    let method: String
    /// The target, or `nil` if it is not UTF-8.
    let target: String?
    /// The version as in the request line: `HTTP/1.1`.
    let version: String
    let headers: HTTPHeaders
    /// The length of the request line and the header section in bytes.
    let size: Int
    /// Whether the request head was read completely, and every HTTP parser finds the same parts in it.
    ///
    /// The head must have no NUL, after which microhttpd skips the rest of a part, and no other control character in a
    /// value. No header may continue on the next line. Each line must end with CR and LF, because a proxy may not accept a
    /// line feed alone as the end.
    let isWhole: Bool

    /// Copies the head that microhttpd has read.
    init(
        of connection: MHDConnection, _ method: UnsafePointer<CChar>, _ target: RawRequestTarget,
        _ version: UnsafePointer<CChar>
    ) {
        self.method = String(cString: method)
        self.target = target.text
        self.version = String(cString: version)
        size = souk_mhd_header_size(connection.pointer)
        var collected = Collected(after: HeadBytes(version))
        collected.headers.fields.reserveCapacity(8)
        withUnsafeMutablePointer(to: &collected) { collected in
            _ = MHD_get_connection_values_n(connection.pointer, .HEADER_KIND, Self.collect, collected)
        }
        headers = collected.headers
        let end = UnsafeRawPointer(method) + size
        isWhole =
            collected.isWhole && target.isWhole(after: method, before: version)
            && (!HeadBytes.partsEndInPlace || collected.last.isFollowed(by: end, after: 4))
    }

    private struct Collected {
        var headers = HTTPHeaders()
        var isWhole = true
        /// The most recent part.
        var last: HeadBytes

        init(after last: HeadBytes) { self.last = last }
    }

    private static let collect: MHD_KeyValueIteratorN = { context, _, name, nameSize, value, valueSize in
        guard let name, let context else { return .YES }
        let collected = context.assumingMemoryBound(to: Collected.self)
        let field = HeadBytes(name, nameSize)
        let content = value.map { HeadBytes($0, valueSize) }
        collected.pointee.headers.add(field.text, content?.text ?? "")
        if HeadBytes.partsEndInPlace, !collected.pointee.last.isFollowed(by: field.start, after: 2) {
            collected.pointee.isWhole = false
        }
        if content?.hasControlCharacters ?? false { collected.pointee.isWhole = false }
        collected.pointee.last = content ?? field
        return .YES
    }

    func check(_ limits: HTTPListener.Configuration) -> Verdict {
        if let problem = problem(within: limits) ?? Self.ambiguity(of: headers) { return .refuse(problem) }
        let length = headers["Content-Length"].flatMap { Int($0) }
        guard let length, length > limits.maximumBodyBytes else { return .accept(length: length) }
        // A client that waits for "100 Continue" has sent no body. A body that is much too long is not read to the end.
        let isWaiting = headers["Expect"]?.equalsIgnoringCase("100-continue") ?? false
        return isWaiting || length > limits.maximumDiscardedBytes
            ? .refuse(Self.tooLarge(limits)) : .discard(Self.tooLarge(limits))
    }

    private func problem(within limits: HTTPListener.Configuration) -> HTTPProblem? {
        let limit = limits.maximumHeaderBytes
        // The invalid bytes are not replaced, because different targets would then mean the same resource.
        guard let target else {
            return Self.malformed("The request target is not UTF-8; bytes outside ASCII must be percent-encoded.")
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
        guard isWhole else {
            return Self.malformed(
                "The request line or a header contains a control character, a header continues on the next line, or a line "
                    + "does not end with CR and LF.")
        }
        guard method.isHTTPToken else { return Self.malformed("The method must be a token, such as GET.") }
        guard headers.allSatisfy(\.name.isHTTPToken) else {
            return Self.malformed("A header name must be a token, with the colon right after it.")
        }
        let hosts = headers.values("Host").count  // RFC 9112 section 3.2.
        guard hosts == 1 || (hosts == 0 && version == "HTTP/1.0") else {
            return Self.malformed("A request must have exactly one Host header.", field: "Host")
        }
        let doubled = Self.singleFields.first { name in
            headers.count { $0.name.equalsIgnoringCase(name) } > 1
        }
        if let name = doubled {
            return Self.malformed("A request must have at most one \(name) header.", field: name)
        }
        return nil
    }

    /// Header fields that decide about access and meaning. Each has one value (RFC 9110 section 5.3), and a second one
    /// would be ignored. `Host` and the length headers are checked separately.
    private static let singleFields = [
        "Authorization", "Proxy-Authorization", "X-Api-Key", "Content-Type", "Expect", "Range", "If-Range",
        "If-Modified-Since", "If-Unmodified-Since", "Origin", "Sec-Fetch-Site", "Sec-Fetch-Mode", "Sec-Fetch-Dest",
        "Last-Event-ID", "Idempotency-Key", "Souk-Environment", "Souk-Customer-Token", "Souk-Webhook-Signature",
        "X-Souk-Inspector",
    ]

    /// Returns a problem when the request has two possible lengths (RFC 9112 section 6.3) or an unsupported encoding.
    private static func ambiguity(of headers: HTTPHeaders) -> HTTPProblem? {
        let lengths = headers.values("Content-Length")
        let encodings = headers.values("Transfer-Encoding")
        guard encodings.isEmpty || lengths.isEmpty, encodings.count <= 1, Set(lengths).count <= 1 else {
            return HTTPProblem(
                status: 400, code: "ambiguous_length", title: "Ambiguous length",
                detail: "A request must have at most one Content-Length or Transfer-Encoding.")
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
