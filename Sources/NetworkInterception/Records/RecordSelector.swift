import HTTPCore

/// Which requests an interceptor handles: one that is not selected passes as if there were no interceptor.
///
/// Asked once before the request is sent, and once more when the answer's head is there: a record that is then no longer
/// selected is taken out of the storage again. Its traffic is not changed by that.
///
///     configuration.recordSelector = .host("api.example.com") && !.path("/healthz")
public struct RecordSelector: Sendable {
    let selects: @Sendable (Record) -> Bool

    public init(selects: @escaping @Sendable (Record) -> Bool) { self.selects = selects }

    /// Every request.
    public static func all() -> RecordSelector { RecordSelector { _ in true } }

    /// Requests and answers whose bodies have at most `bytesize` bytes each, as far as their length is known.
    public static func max(bytesize: Int) -> RecordSelector {
        RecordSelector { record in
            (record.designatedRequest.body.length ?? 0) <= bytesize
                && (record.response?.announcedLength ?? 0) <= bytesize
        }
    }

    /// Requests to this host, compared without case; `*.example.com` is every host below `example.com`. A port counts
    /// only if one is given.
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

    /// Requests with this method.
    public static func method(_ method: HTTPRequest.Method) -> RecordSelector {
        RecordSelector { $0.designatedRequest.method == method }
    }

    /// Requests whose path, without its query, matches: `*` stands for anything within a segment, `**` for anything.
    public static func path(_ pattern: String) -> RecordSelector {
        let pattern = PathPattern(pattern)
        return RecordSelector { pattern.matches($0.designatedRequest.path) }
    }

    /// Answers of this media type, parameters left out: `application/json`, `image/*`. A request that has no answer yet
    /// is selected, one that failed is not.
    public static func contentType(_ type: String) -> RecordSelector {
        let wanted = type.lowercased()
        return RecordSelector { record in
            guard record.failure == nil else { return false }
            guard let response = record.response else { return true }
            let given = (response.headers["Content-Type"] ?? "").prefix { $0 != ";" && $0 != " " }.lowercased()
            return wanted.hasSuffix("/*") ? given.hasPrefix(wanted.dropLast()) : given == wanted
        }
    }

    public static func && (left: RecordSelector, right: RecordSelector) -> RecordSelector {
        RecordSelector { left.selects($0) && right.selects($0) }
    }

    public static func || (left: RecordSelector, right: RecordSelector) -> RecordSelector {
        RecordSelector { left.selects($0) || right.selects($0) }
    }

    public static prefix func ! (selector: RecordSelector) -> RecordSelector {
        RecordSelector { !selector.selects($0) }
    }
}

extension HTTPResponse {
    /// The body's length, counted or announced.
    fileprivate var announcedLength: Int? { body.length ?? headers["Content-Length"].flatMap(Int.init) }
}
