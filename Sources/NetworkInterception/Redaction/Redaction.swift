import HTTPCore

/// Rules that remove secrets from a record before it is stored, displayed or exported. The traffic itself is unchanged.
///
///     configuration.redaction = .standard.adding(members: ["ssn"], pointers: ["/card/number"])
///
/// A secret is recognized by its name or by its format. ``standard`` has the usual names of credentials in headers,
/// query items, form fields, JSON members, XML elements and attributes, YAML keys and settings in a text. These formats
/// are secrets under any name:
///
/// - Signed texts (JWS and other base64 of a JSON object).
/// - Base64 of DER, bodies in PKCS #7 such as an app receipt, and private keys in PEM.
/// - Tokens and password digests with a known prefix, and credentials after a scheme such as `Bearer` or `Basic`.
/// - Numbers of payment cards, and passwords in SQL statements, in netrc and after curl's option `-u`.
/// - The user information of a URL.
///
/// Bodies are scanned as text, so that secrets are also removed from cut or malformed JSON. All other bytes are
/// unchanged. A body with a `Content-Encoding` cannot be scanned and is replaced as a whole, unless
/// ``keepsEncodedBodies`` is set. A secret with an unknown name and format cannot be recognized; add its name.
public struct Redaction: Sendable {
    /// The headers whose values are secrets, by their full names.
    public let headers: SensitiveHeaders
    /// The query items and form fields whose values are secrets, by their full names.
    public let queryItems: Set<String>
    /// The members at any depth whose values are secrets, by their full names. These names apply to query items, form
    /// fields and parts of multipart bodies too.
    public let members: Set<String>
    /// The locations of secrets in JSON bodies, as RFC 6901 pointers.
    public let pointers: [String]
    /// Whether bodies with a `Content-Encoding` are kept, although they cannot be scanned.
    public let keepsEncodedBodies: Bool

    private let rules: SecretRules?

    /// Creates rules for these names and for the formats of secrets, without the other names of ``standard``. To extend
    /// ``standard``, use its method `adding`.
    ///
    /// The names of query items and members are compared without case, hyphens and underscores: `access_token` equals
    /// `accessToken`.
    ///
    /// - Parameters:
    ///   - headers: The headers whose values are secrets; by default, `SensitiveHeaders.standard`.
    ///   - queryItems: The query items and form fields whose values are secrets.
    ///   - members: The members at any depth whose values are secrets.
    ///   - pointers: The locations of secrets in JSON bodies, as RFC 6901 pointers.
    ///   - keepsEncodedBodies: Whether bodies with a `Content-Encoding` are kept, although they cannot be scanned.
    public init(
        headers: SensitiveHeaders = .standard, queryItems: Set<String> = [], members: Set<String> = [],
        pointers: [String] = [], keepsEncodedBodies: Bool = false
    ) {
        self.init(headers, queryItems, members, pointers, keepsEncodedBodies, hasStandardWords: false)
    }

    private init(
        _ headers: SensitiveHeaders, _ queryItems: Set<String>, _ members: Set<String>, _ pointers: [String],
        _ keepsEncodedBodies: Bool, hasStandardWords: Bool
    ) {
        self.headers = headers
        self.queryItems = queryItems
        self.members = members
        self.pointers = pointers
        self.keepsEncodedBodies = keepsEncodedBodies
        rules = SecretRules(
            members: members, queryItems: queryItems, pointers: pointers, hasStandardWords: hasStandardWords)
    }

    private init() {
        headers = SensitiveHeaders([])
        queryItems = []
        members = []
        pointers = []
        keepsEncodedBodies = true
        rules = nil
    }

    /// The credentials of HTTP, Souk and the App Store: passwords, tokens, keys, sessions and one-time codes under
    /// their usual names, receipts, and data that the store signed.
    public static let standard = Redaction(.standard, [], [], [], false, hasStandardWords: true)

    /// No rules, for traffic without secrets.
    public static let none = Redaction()

    /// Returns these rules with additional names.
    ///
    /// - Parameters:
    ///   - moreHeaders: The headers whose values are secrets.
    ///   - moreItems: The query items and form fields whose values are secrets.
    ///   - moreMembers: The members at any depth whose values are secrets.
    ///   - morePointers: The locations of secrets in JSON bodies, as RFC 6901 pointers.
    public func adding(
        headers moreHeaders: [String] = [], queryItems moreItems: Set<String> = [],
        members moreMembers: Set<String> = [],
        pointers morePointers: [String] = []
    ) -> Redaction {
        Redaction(
            headers.adding(moreHeaders), queryItems.union(moreItems), members.union(moreMembers),
            pointers + morePointers,
            keepsEncodedBodies, hasStandardWords: rules?.hasStandardWords == true)
    }

    /// Returns these rules, but keeps bodies with a `Content-Encoding`, which cannot be scanned.
    public func keepingEncodedBodies() -> Redaction {
        guard let rules else { return self }
        return Redaction(
            headers, queryItems, members, pointers, true, hasStandardWords: rules.hasStandardWords)
    }

    /// Returns the record without its secrets. A repeated redaction changes nothing. An error whose texts contain a
    /// secret becomes an error with redacted text.
    ///
    /// - Parameter record: The record.
    public func redacted(_ record: Record) -> Record {
        record.replacing(redacted(record.requests), record.result.map { redacted($0) })
    }

    /// Returns the requests of a record without their secrets.
    func redacted(_ requests: Record.Requests) -> Record.Requests {
        guard let rules else { return requests }
        let original = redacted(requests.original, rules)
        guard !requests.designated.isBufferedAndEqual(to: requests.original) else {
            return Record.Requests(original, original)
        }
        return Record.Requests(original, redacted(requests.designated, rules))
    }

    /// Returns the result of a request without its secrets.
    func redacted(_ result: Result<Response, any Error>) -> Result<Response, any Error> {
        rules.map { redacted(result, $0) } ?? result
    }

    private func redacted(
        _ result: Result<Response, any Error>, _ rules: SecretRules
    ) -> Result<Response, any Error> {
        switch result {
        case .success(let response):
            return .success(
                Response(
                    status: response.status, headers: redacted(response.headers, rules),
                    body: redacted(response.body, response.headers, rules)))
        case .failure(let error): return .failure(redacted(error, rules))
        }
    }

    /// Whether a part of `text` was redacted.
    public static func isRedacted(_ text: String) -> Bool {
        text.contains(SensitiveHeaders.replacement) || text.contains(SecretScanner.replacementInQuery)
            || text.contains("//\(SecretScanner.replacementOfUser)@")
    }

    /// Returns `text` without its secrets.
    public func redacted(_ text: String) -> String { rules.map { $0.redacted(text) } ?? text }

    /// Returns the URL without its secrets.
    package func redacted(url: String) -> String { rules?.redacted(url: url) ?? url }

    /// Returns the headers without their secrets.
    func redacted(_ headers: HTTPHeaders) -> HTTPHeaders { rules.map { redacted(headers, $0) } ?? headers }

    private func redacted(_ request: HTTPRequest, _ rules: SecretRules) -> HTTPRequest {
        HTTPRequest(
            method: request.method, url: rules.redacted(url: request.url), headers: redacted(request.headers, rules),
            body: redacted(request.body, request.headers, rules), timeout: request.timeout)
    }

    private func redacted(_ headers: HTTPHeaders, _ rules: SecretRules) -> HTTPHeaders {
        let known = rules.harmlessFields.known(headers.fields)
        var redacted = headers
        for index in headers.fields.indices where index >= 64 || known & (1 &<< UInt64(index)) == 0 {
            let field = headers.fields[index]
            if self.headers.contains(field.name) || rules.hides(field) {
                redacted.fields[index].value = SensitiveHeaders.replacement
            } else if let value = rules.redactedIfChanged(field.value, Self.isURL(field) ? .url : .header) {
                redacted.fields[index].value = value
            } else {
                rules.harmlessFields.insert(field)
            }
        }
        return redacted
    }

    private static func isURL(_ field: HTTPHeaders.Field) -> Bool {
        ["Location", "Referer", "Content-Location"].contains { field.name.equalsIgnoringCase($0) }
    }

    private func redacted(_ body: HTTPBody, _ headers: HTTPHeaders, _ rules: SecretRules) -> HTTPBody {
        guard case .bytes(let bytes) = body, !bytes.isEmpty else { return body }
        let kind = BodyKind(headers)
        if kind == .encoded { return keepsEncodedBodies ? body : .text(SensitiveHeaders.replacement) }
        return rules.redactedIfChanged(bytes, kind, type: headers["Content-Type"]).map(HTTPBody.bytes) ?? body
    }

    private func redacted(_ error: any Error, _ rules: SecretRules) -> any Error {
        guard RecordedFailure.texts(of: error).contains(where: { rules.redactedIfChanged($0) != nil }) else {
            return error
        }
        let failure = RecordedFailure(error)
        return RecordedFailure(kind: failure.kind, code: failure.code, reason: rules.redacted(failure.reason)).restored
    }
}

/// The syntax of a text. The headers of a message determine the syntax of its body.
enum BodyKind {
    /// A text that is not a body.
    case text
    /// The value of a header.
    case header
    /// A complete URL.
    case url
    /// A body whose headers declare a form.
    case form
    /// Another body, which may also begin with a form field.
    case body
    case multipart
    /// A body that must be decoded before it can be scanned.
    case encoded

    init(_ headers: HTTPHeaders) {
        self = .body
        for field in headers.fields where field.name.utf8.count == 12 || field.name.utf8.count == 16 {
            if field.name.equalsIgnoringCase("Content-Encoding") {
                guard field.value.isEmpty || field.value.equalsIgnoringCase("identity") else {
                    self = .encoded
                    return
                }
            } else if field.value != "application/json", field.name.equalsIgnoringCase("Content-Type") {
                let type = field.value.lowercased()
                if type.hasPrefix("multipart/") { self = .multipart }
                if type.hasPrefix("application/x-www-form-urlencoded") { self = .form }
            }
        }
    }
}

extension HTTPRequest {
    /// Whether the requests are equal. `false` if a body is not in memory.
    fileprivate func isBufferedAndEqual(to other: HTTPRequest) -> Bool {
        guard case .bytes(let own) = body, case .bytes(let others) = other.body else { return false }
        return method == other.method && url == other.url && timeout == other.timeout && headers == other.headers
            && own == others
    }
}
