import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

// What transports over URLSession share.

/// On Linux `cancel()` and `invalidateAndCancel()` wait for the one queue that all sessions work on. Who gives up, or
/// lets go of a session, may stand on that queue, or hold what somebody on it waits for.
private let endings = DispatchQueue(label: "HTTPCore.sessionEndings")

extension URLSession {
    /// `invalidateAndCancel()` from a queue that nobody waits for.
    package func invalidateElsewhere() { endings.async { self.invalidateAndCancel() } }
}

extension URLSessionTask {
    /// `cancel()` from a queue that nobody waits for.
    package func cancelElsewhere() { endings.async { self.cancel() } }
}

extension HTTPHeaders {
    /// The fields of an answer as URLSession keeps them: one of each name, in the order of their names.
    package init(_ response: HTTPURLResponse) {
        let fields = response.allHeaderFields.compactMap { name, value -> Field? in
            guard let name = name as? String, let value = value as? String else { return nil }
            return Field(name: name, value: value)
        }
        self.init(fields.sorted { $0.name < $1.name })
    }
}

extension HTTPError {
    /// What stands for what in both worlds; the first pair counts.
    private static let pairs: [(URLError.Code, Code)] = [
        (.timedOut, .timeout), (.cancelled, .cancelled), (.cannotFindHost, .hostNotFound),
        (.dnsLookupFailed, .hostNotFound), (.cannotConnectToHost, .connectionFailed),
        (.notConnectedToInternet, .connectionFailed), (.networkConnectionLost, .connectionLost),
        (.networkConnectionLost, .noAnswer), (.badURL, .invalidURL), (.unsupportedURL, .invalidURL),
        (.secureConnectionFailed, .tlsFailed), (.serverCertificateUntrusted, .tlsFailed),
        (.serverCertificateHasBadDate, .tlsFailed), (.serverCertificateHasUnknownRoot, .tlsFailed),
        (.dataLengthExceedsMaximum, .bodyTooLarge), (.cannotParseResponse, .protocolError),
        (.unsupportedURL, .unsupported),
    ]

    /// What a session says of a request that failed.
    package init(reportedBySession error: any Error) {
        let code = Self.pairs.first { $0.0 == (error as? URLError)?.code }?.1 ?? .protocolError
        self.init(code, "The request failed (\(code.rawValue)); see the underlying error.", underlying: error)
    }

    /// As an app of URLSession expects it: the session's own error where there is one.
    package var asURLError: URLError {
        underlying as? URLError ?? URLError(Self.pairs.first { $0.1 == code }?.0 ?? .badServerResponse)
    }
}
