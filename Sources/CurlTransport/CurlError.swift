import CCurl
import HTTPCore

/// An error code of libcurl. It is the underlying error of an `HTTPError`.
package struct CurlError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The value of libcurl's `CURLcode`.
    package let code: Int
    /// libcurl's description of the code.
    package let description: String

    init(_ code: CURLcode) {
        self.code = Int(code.rawValue)
        description = String(cString: curl_easy_strerror(code))
    }
}

extension HTTPError {
    init(reportedByCurl code: CURLcode) {
        let underlying = CurlError(code)
        switch code {
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY:
            self.init(.hostNotFound, "The host's name has no address; check the URL.", underlying: underlying)
        case CURLE_COULDNT_CONNECT:
            self.init(
                .connectionFailed, "Cannot connect to the server; check that it is running.", underlying: underlying)
        case CURLE_OPERATION_TIMEDOUT:
            self.init(
                .timeout, "The connection to the server timed out; check that it is reachable.", underlying: underlying)
        case CURLE_GOT_NOTHING:
            self.init(.noAnswer, "The server ended the connection without an answer.", underlying: underlying)
        case CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_PARTIAL_FILE, CURLE_SEND_FAIL_REWIND:
            self.init(
                .connectionLost, "The connection ended before the answer was complete.", underlying: underlying)
        case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER,
            CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_USE_SSL_FAILED:
            self.init(
                .tlsFailed, "The server's certificate or the TLS handshake was refused (\(underlying)).",
                underlying: underlying)
        case CURLE_URL_MALFORMAT:
            self.init(.invalidURL, "The URL is malformed.", underlying: underlying)
        case CURLE_UNSUPPORTED_PROTOCOL:
            // `PreparedRequest` has checked the scheme, so the response has no HTTP status line.
            self.init(.protocolError, "The server's response is not HTTP/1.1.", underlying: underlying)
        case CURLE_ABORTED_BY_CALLBACK:
            self.init(.cancelled, "The request was cancelled.", underlying: underlying)
        default:
            self.init(
                .protocolError, "The exchange failed: \(underlying.description).", underlying: underlying)
        }
    }
}
