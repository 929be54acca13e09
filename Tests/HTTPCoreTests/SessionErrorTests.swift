import Foundation
import HTTPCore
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The conversion of URLSession's errors, in both directions.
@Suite struct SessionErrorTests {
    @Test(arguments: [
        (URLError.Code.timedOut, "timeout"), (.cancelled, "cancelled"), (.cannotFindHost, "hostNotFound"),
        (.dnsLookupFailed, "hostNotFound"), (.cannotConnectToHost, "connectionFailed"),
        (.notConnectedToInternet, "connectionFailed"), (.networkConnectionLost, "connectionLost"),
        (.badURL, "invalidURL"), (.unsupportedURL, "invalidURL"), (.secureConnectionFailed, "tlsFailed"),
        (.serverCertificateUntrusted, "tlsFailed"), (.serverCertificateHasBadDate, "tlsFailed"),
        (.serverCertificateHasUnknownRoot, "tlsFailed"), (.dataLengthExceedsMaximum, "bodyTooLarge"),
        (.cannotParseResponse, "protocolError"), (.fileDoesNotExist, "protocolError"),
    ])
    func `an error of URLSession gets a code and converts back unchanged`(code: URLError.Code, expected: String) {
        let error = HTTPError(reportedBySession: URLError(code))
        #expect(error.code.rawValue == expected)
        #expect(error.asURLError.code == code)
        #expect(error.reason.contains(expected))
    }

    @Test func `an error of another type becomes the underlying error`() {
        struct Other: Error {}
        let error = HTTPError(reportedBySession: Other())
        #expect(error.code == .protocolError && error.underlying is Other)
        #expect(error.asURLError.code == .cannotParseResponse)
    }

    @Test(arguments: [
        (HTTPError.Code.timeout, URLError.Code.timedOut), (.cancelled, .cancelled), (.hostNotFound, .cannotFindHost),
        (.connectionFailed, .cannotConnectToHost), (.connectionLost, .networkConnectionLost),
        (.noAnswer, .networkConnectionLost), (.invalidURL, .badURL), (.tlsFailed, .secureConnectionFailed),
        (.bodyTooLarge, .dataLengthExceedsMaximum), (.protocolError, .cannotParseResponse),
        (.unsupported, .unsupportedURL), (.init(rawValue: "own"), .badServerResponse),
    ])
    func `an HTTPError converts to a URLError`(code: HTTPError.Code, expected: URLError.Code) {
        #expect(HTTPError(code, "").asURLError.code == expected)
    }
}
