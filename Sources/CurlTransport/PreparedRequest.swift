import CCurl
import Foundation
import HTTPCore

/// A validated request in the form that libcurl needs.
struct PreparedRequest: Sendable {
    enum Body: Sendable {
        case none
        case bytes([UInt8])
        case stream(HTTPBodyStream)
    }

    let url: String
    /// The scheme, host and port to connect to.
    let origin: String
    let method: HTTPRequest.Method
    /// The header lines for libcurl, including lines that remove its default headers.
    let headerLines: [String]
    let body: Body
    let timeout: Duration
    let connectTimeout: Duration
    let certificateAuthorityFile: String?
    let isLoopback: Bool

    /// Validates a request.
    ///
    /// - Throws: `HTTPError` with the code `invalidURL`, `invalidHeader` or `unsupported`.
    init(_ request: HTTPRequest, _ configuration: CurlTransport.Configuration) throws(HTTPError) {
        guard let host = Self.host(of: request.url) else {
            throw HTTPError(.invalidURL, "The URL must be an absolute http or https URL, percent-encoded.")
        }
        guard request.method.rawValue.isHTTPToken else {
            throw HTTPError(.invalidHeader, "The request method is not a token.")
        }
        try request.headers.validate()
        url = request.url
        origin = "\(url.prefix { $0 != ":" }) \(Self.authority(of: url) ?? "")".lowercased()
        method = request.method
        body = try Self.body(of: request)
        headerLines = Self.lines(request.headers)
        timeout = request.timeout ?? configuration.timeout
        connectTimeout = configuration.connectTimeout
        certificateAuthorityFile = configuration.certificateAuthorityFile
        isLoopback = Self.isLoopback(host)
    }

    private static func body(of request: HTTPRequest) throws(HTTPError) -> Body {
        switch request.body {
        case .bytes(let bytes) where bytes.isEmpty:
            // RFC 9110 section 8.6: with these methods an empty body has `Content-Length: 0`.
            return [.post, .put, .patch].contains(request.method) ? .bytes([]) : .none
        case _ where request.method == .head:
            throw HTTPError(.unsupported, "This transport does not support a HEAD request with a body.")
        case .bytes(let bytes): return .bytes(bytes)
        case .stream(let stream): return .stream(stream)
        }
    }

    /// Returns the header lines. Omits those about the length, which libcurl derives from the body.
    private static func lines(_ headers: HTTPHeaders) -> [String] {
        var lines = headers.compactMap { field -> String? in
            if field.name.equalsIgnoringCase("Content-Length") { return nil }
            if field.name.equalsIgnoringCase("Transfer-Encoding") { return nil }
            return field.value.isEmpty ? "\(field.name);" : "\(field.name): \(field.value)"
        }
        for unwanted in ["Accept", "Expect", "Content-Type", "User-Agent"] where !headers.contains(unwanted) {
            lines.append("\(unwanted):")
        }
        return lines
    }

    /// Returns the host and port of a URL, as they are written in it.
    private static func authority(of url: String) -> Substring? {
        guard let mark = url.firstRange(of: "://") else { return nil }
        let authority = url[mark.upperBound...].prefix { !"/?#".contains($0) }
        return authority.lastIndex(of: "@").map { authority[authority.index(after: $0)...] } ?? authority
    }

    private static func host(of url: String) -> Substring? {
        guard url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }), let authority = authority(of: url),
            ["http", "https"].contains(url.prefix { $0 != ":" }.lowercased())
        else { return nil }
        if authority.hasPrefix("[") {
            guard let end = authority.firstIndex(of: "]") else { return nil }
            return authority[...end]
        }
        let host = authority.prefix { $0 != ":" }
        return host.isEmpty ? nil : host
    }

    /// Returns whether a host is on this machine. No proxy is used for such a host, because the proxy would connect to
    /// its own loopback interface.
    private static func isLoopback(_ host: Substring) -> Bool {
        let name = host.lowercased()
        if name == "localhost" || name.hasSuffix(".localhost") || name == "[::1]" { return true }
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }
}

extension PreparedRequest {
    /// Sets the options of this request on a fresh handle. Returns the header list, which must outlive the transfer.
    func configure(_ handle: UnsafeMutableRawPointer) -> UnsafeMutablePointer<curl_slist>? {
        souk_curl_allow_only_http(handle)
        souk_curl_set_text(handle, CURLOPT_URL, url)
        for (option, value) in [
            (CURLOPT_NOSIGNAL, 1), (CURLOPT_PATH_AS_IS, 1), (CURLOPT_HTTP_CONTENT_DECODING, 0),
            (CURLOPT_SUPPRESS_CONNECT_HEADERS, 1), (CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1),
            (CURLOPT_CONNECTTIMEOUT_MS, max(1, Int(min(connectTimeout, timeout) / .milliseconds(1)))),
        ] {
            souk_curl_set_long(handle, option, value)
        }
        if isLoopback { souk_curl_set_text(handle, CURLOPT_PROXY, "") }
        if let certificateAuthorityFile { souk_curl_set_text(handle, CURLOPT_CAINFO, certificateAuthorityFile) }
        setBody(handle)
        var list: UnsafeMutablePointer<curl_slist>?
        for line in headerLines { list = curl_slist_append(list, line) ?? list }
        souk_curl_set_list(handle, CURLOPT_HTTPHEADER, list)
        return list
    }

    private func setBody(_ handle: UnsafeMutableRawPointer) {
        switch body {
        case .none:
            if method == .head {
                souk_curl_set_long(handle, CURLOPT_NOBODY, 1)
            } else {
                souk_curl_set_long(handle, CURLOPT_HTTPGET, 1)
                if method != .get { souk_curl_set_text(handle, CURLOPT_CUSTOMREQUEST, method.rawValue) }
            }
        case .bytes(let bytes):
            souk_curl_set_long(handle, CURLOPT_POST, 1)
            souk_curl_set_size(handle, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(bytes.count))
            bytes.withUnsafeBytes { bytes in
                // With a nil pointer libcurl would read the body by callback.
                withUnsafePointer(to: 0 as UInt8) { nothing in
                    let start = bytes.baseAddress ?? UnsafeRawPointer(nothing)
                    souk_curl_set_bytes(handle, CURLOPT_COPYPOSTFIELDS, start)
                }
            }
            if method != .post { souk_curl_set_text(handle, CURLOPT_CUSTOMREQUEST, method.rawValue) }
        case .stream(let stream):
            souk_curl_set_long(handle, CURLOPT_UPLOAD, 1)
            souk_curl_set_size(handle, CURLOPT_INFILESIZE_LARGE, curl_off_t(stream.length ?? -1))
            if method != .put { souk_curl_set_text(handle, CURLOPT_CUSTOMREQUEST, method.rawValue) }
        }
    }
}
