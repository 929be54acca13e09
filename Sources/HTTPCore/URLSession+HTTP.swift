import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The queue on which sessions and tasks are cancelled.
///
/// On Linux `cancel()` and `invalidateAndCancel()` wait for the single queue that all sessions share. A caller that
/// runs on that queue, or holds a lock that work on that queue needs, would wait forever.
private let cancellationQueue = DispatchQueue(label: "HTTPCore.sessionEndings")

extension URLSession {
    /// Calls `invalidateAndCancel()` on a separate queue, so that the caller does not wait.
    package func invalidateAsynchronously() { cancellationQueue.async { self.invalidateAndCancel() } }
}

extension URLSessionTask {
    /// Calls `cancel()` on a separate queue, so that the caller does not wait.
    package func cancelAsynchronously() { cancellationQueue.async { self.cancel() } }
}

extension HTTPHeaders {
    /// Creates headers from a response of URLSession, which keeps one field for each name. Sorts the fields by name.
    package init(_ response: HTTPURLResponse) {
        let fields = response.allHeaderFields.compactMap { name, value -> Field? in
            guard let name = name as? String, let value = value as? String else { return nil }
            return Field(name: name, value: value)
        }
        self.init(fields.sorted { $0.name < $1.name })
    }
}

extension HTTPError {
    /// Corresponding codes of URLSession and of `HTTPError`; the first match counts.
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

    /// Creates an error from the error of a session's task.
    package init(reportedBySession error: any Error) {
        let code = Self.pairs.first { $0.0 == (error as? URLError)?.code }?.1 ?? .protocolError
        self.init(code, "The request failed (\(code.rawValue)); see the underlying error.", underlying: error)
    }

    /// This error as a `URLError`, for apps that use URLSession. It is the session's own error if there is one.
    package var asURLError: URLError {
        underlying as? URLError ?? URLError(Self.pairs.first { $0.1 == code }?.0 ?? .badServerResponse)
    }
}
