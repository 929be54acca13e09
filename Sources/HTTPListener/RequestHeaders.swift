import CMicrohttpd
import HTTPCore

/// Reads the headers of a request and decides whether its body may be read.
enum RequestHeaders {
    enum Verdict {
        /// Read the body; its length, if announced.
        case accept(length: Int?)
        /// Read the body, throw it away, then refuse.
        case discard(HTTPProblem)
        /// Refuse at once and close.
        case refuse(HTTPProblem)
    }

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

    /// RFC 9112 section 6.3: a message whose length can be read in two ways is refused.
    static func check(_ headers: HTTPHeaders, size: Int, _ limits: HTTPListener.Configuration) -> Verdict {
        guard size <= limits.maximumHeaderBytes else {
            return .refuse(
                HTTPProblem(
                    status: 431, code: "headers_too_large", title: "Headers too large",
                    detail: "Request line and headers are longer than \(limits.maximumHeaderBytes) bytes."))
        }
        let lengths = headers.values("Content-Length")
        let encodings = headers.values("Transfer-Encoding")
        guard encodings.isEmpty || lengths.isEmpty, encodings.count <= 1, Set(lengths).count <= 1 else {
            return .refuse(
                HTTPProblem(
                    status: 400, code: "ambiguous_length", title: "Ambiguous length",
                    detail: "A request has one Content-Length or one Transfer-Encoding, not several."))
        }
        if let encoding = encodings.first, !encoding.equalsIgnoringCase("chunked") {
            return .refuse(
                HTTPProblem(
                    status: 501, code: "unsupported", title: "Not supported",
                    detail: "The only transfer encoding supported is chunked."))
        }
        guard let length = lengths.first.flatMap({ Int($0) }), length > limits.maximumBodyBytes else {
            return .accept(length: lengths.first.flatMap { Int($0) })
        }
        // A client that asks first has not begun to send, and one that announces too much will not be heard out.
        let isWaiting = headers["Expect"]?.equalsIgnoringCase("100-continue") ?? false
        return isWaiting || length > limits.maximumDiscardedBytes
            ? .refuse(tooLarge(limits)) : .discard(tooLarge(limits))
    }

    static func tooLarge(_ limits: HTTPListener.Configuration) -> HTTPProblem {
        HTTPProblem(
            status: 413, code: "body_too_large", title: "Body too large",
            detail: "The body is longer than the \(limits.maximumBodyBytes) bytes allowed.")
    }
}
