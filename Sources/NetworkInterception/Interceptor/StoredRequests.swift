import HTTPCore

/// The requests of a record that was stored, before and after their redaction. The next state of the record usually has
/// the same requests, which then need no other scan.
struct StoredRequests: Sendable {
    let plain: Record.Requests
    let redacted: Record.Requests
}

extension Interceptor {
    /// Returns the form of a record that is stored: changed by the modifier of the configuration, and without secrets.
    ///
    /// - Parameters:
    ///   - record: The record. All its bodies are bytes.
    ///   - previous: The requests of the previous state, if any.
    /// - Returns: The form to store, and its requests for the next state.
    func stored(_ record: Record, after previous: StoredRequests?) -> (record: Record, requests: StoredRequests) {
        let plain = configuration.preStorageRecordModifier?(record) ?? record
        let requests = plain.requests
        let stored =
            if let previous, requests.areEqual(to: previous.plain) {
                StoredRequests(plain: requests, redacted: previous.redacted)
            } else {
                StoredRequests(plain: requests, redacted: configuration.redaction.redacted(requests))
            }
        guard let result = plain.result else { return (plain.replacing(stored.redacted, nil), stored) }
        var redacted = plain.replacing(stored.redacted, configuration.redaction.redacted(result))
        let signed = SignedText.found(in: plain, configuration.redaction)
        if !signed.isEmpty { redacted.signedTexts = signed }
        return (redacted, stored)
    }
}

extension Record.Requests {
    fileprivate func areEqual(to other: Record.Requests) -> Bool {
        self === other || original.isEqual(to: other.original) && designated.isEqual(to: other.designated)
    }
}

extension HTTPRequest {
    fileprivate func isEqual(to other: HTTPRequest) -> Bool {
        method == other.method && url == other.url && timeout == other.timeout && headers == other.headers
            && body.buffered == other.body.buffered
    }
}
