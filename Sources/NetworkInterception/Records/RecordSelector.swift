import HTTPCore

/// Selects records: the requests that an interceptor handles, or those that a floret changes. Requests that an
/// interceptor does not handle pass as if there were no interceptor.
///
/// The selector of an interceptor runs before the request is sent and, for a selected record, again when the head of
/// the response or the failure has arrived. If it does not select the record then, the record is removed from the
/// storage. Its traffic is not affected.
///
///     configuration.recordSelector = .host("api.example.com") && !.path("/healthz")
public struct RecordSelector: Sendable {
    let selects: @Sendable (Record) -> Bool

    /// Creates a selector from a function.
    ///
    /// - Parameter selects: Whether a record is selected.
    public init(selects: @escaping @Sendable (Record) -> Bool) { self.selects = selects }

    /// Selects every request.
    public static func all() -> RecordSelector { RecordSelector { _ in true } }

    /// Selects requests and responses whose bodies have at most `bytesize` bytes each, as far as the lengths are known.
    public static func max(bytesize: Int) -> RecordSelector {
        RecordSelector { record in
            (record.designatedRequest.body.length ?? 0) <= bytesize
                && (record.response?.announcedLength ?? 0) <= bytesize
        }
    }

    /// Selects requests to a host.
    ///
    /// - Parameter pattern: The host, compared without case. `*.example.com` matches every host below `example.com`,
    ///   and a port counts only if it is given.
    public static func host(_ pattern: String) -> RecordSelector {
        let pattern = pattern.lowercased()
        return RecordSelector { record in
            guard let authority = record.designatedRequest.authority?.lowercased() else { return false }
            let host = authority.hasPrefix("[") ? authority : String(authority.prefix { $0 != ":" })
            let given = pattern.hasPrefix("[") ? pattern.contains("]:") : pattern.contains(":")
            let candidate = given ? authority : (host.hasPrefix("[") ? String(host.prefix { $0 != "]" }) + "]" : host)
            return pattern.hasPrefix("*.") ? candidate.hasSuffix(pattern.dropFirst()) : candidate == pattern
        }
    }

    /// Selects requests with this `method`.
    public static func method(_ method: HTTPRequest.Method) -> RecordSelector {
        RecordSelector { $0.designatedRequest.method == method }
    }

    /// Selects requests by their path.
    ///
    /// - Parameter pattern: The path without a query. `*` matches any characters within a segment, and `**` matches any
    ///   characters.
    public static func path(_ pattern: String) -> RecordSelector {
        let pattern = PathPattern(pattern)
        return RecordSelector { pattern.matches($0.designatedRequest.path) }
    }

    /// Selects responses by their media type. A request without a response yet is selected; a failed request is not.
    ///
    /// - Parameter type: The media type without parameters, such as `application/json` or `image/*`.
    public static func contentType(_ type: String) -> RecordSelector {
        let wanted = type.lowercased()
        return RecordSelector { record in
            guard record.failure == nil else { return false }
            guard let response = record.response else { return true }
            let given = (response.headers["Content-Type"] ?? "").prefix { $0 != ";" && $0 != " " }.lowercased()
            return wanted.hasSuffix("/*") ? given.hasPrefix(wanted.dropLast()) : given == wanted
        }
    }

    /// Selects records that both `left` and `right` select.
    public static func && (left: RecordSelector, right: RecordSelector) -> RecordSelector {
        RecordSelector { left.selects($0) && right.selects($0) }
    }

    /// Selects records that `left` or `right` selects.
    public static func || (left: RecordSelector, right: RecordSelector) -> RecordSelector {
        RecordSelector { left.selects($0) || right.selects($0) }
    }

    /// Selects records that `selector` does not select.
    public static prefix func ! (selector: RecordSelector) -> RecordSelector {
        RecordSelector { !selector.selects($0) }
    }
}

extension HTTPResponse {
    /// The length of the body, or the length that `Content-Length` announces.
    fileprivate var announcedLength: Int? { body.length ?? headers["Content-Length"].flatMap(Int.init) }
}
