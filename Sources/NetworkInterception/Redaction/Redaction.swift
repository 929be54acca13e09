import HTTPCore

/// What is taken out of a record before anybody stores, shows or exports it. The traffic itself is not touched.
///
///     configuration.redaction = .standard.adding(members: ["ssn"], pointers: ["/card/number"])
///
/// A secret is known by the name beside it, or by its shape. `standard` knows the names of credentials, as headers, items of
/// queries, fields of forms, members of JSON, elements and attributes of XML, keys of YAML and settings in a text. Under any
/// name it is one when it is a signed text (JWS and other base64 of a JSON object), base64 of DER such as an app receipt, a
/// private key in PEM, a token with a known prefix, credentials after `Bearer` or `Basic`, the number of a payment card, or
/// the user information of a URL. Bodies are looked through as text, so one that is cut in the middle of a secret, or is no
/// valid JSON, gives nothing away, and what is not secret stays byte for byte.
///
/// A secret under a name of your own, without a known shape, cannot be told from other values: name it.
public struct Redaction: Sendable {
    /// Headers whose values are secrets, by their names in full.
    public let headers: SensitiveHeaders
    /// Query items and form fields whose values are secrets, by their names in full.
    public let queryItems: Set<String>
    /// Members at any depth whose values are secrets, by their names in full; also query items, form fields and parts of
    /// multipart bodies.
    public let members: Set<String>
    /// Places in JSON bodies whose values are secrets, as RFC 6901 pointers.
    public let pointers: [String]
    /// Whether bodies are kept that cannot be looked into: those with a `Content-Encoding`.
    public let keepsEncodedBodies: Bool

    private let rules: SecretRules?

    /// Only what is named here and what is a secret by its shape. To add to what is known, use `standard.adding`.
    ///
    /// The names of query items and members are compared without case, hyphens and underscores: `access_token` is
    /// `accessToken`.
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

    /// The credentials of HTTP, of Souk and of the App Store: passwords, tokens, keys, sessions and one-time codes under their
    /// usual names, receipts and what the store signed.
    public static let standard = Redaction(.standard, [], [], [], false, hasStandardWords: true)

    /// Nothing is taken out. For traffic that has no secrets.
    public static let none = Redaction()

    /// This and more.
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

    /// The same, keeping bodies that cannot be looked into.
    public func keepingEncodedBodies() -> Redaction {
        guard let rules else { return self }
        return Redaction(
            headers, queryItems, members, pointers, true, hasStandardWords: rules.hasStandardWords)
    }

    /// The record without its secrets. What was redacted already stays as it is. An error whose texts have a secret
    /// becomes a `RecordedFailure`.
    public func redacted(_ record: Record) -> Record {
        guard let rules else { return record }
        var record = record
        let original = redacted(record.originalRequest, rules)
        record.designatedRequest =
            record.designatedRequest.isBuffered(as: record.originalRequest)
            ? original : redacted(record.designatedRequest, rules)
        record.originalRequest = original
        record.result = record.result.map { redacted($0, rules) }
        return record
    }

    /// How a request ended, without its secrets.
    func redacted(_ result: Result<Response, any Error>) -> Result<Response, any Error> {
        rules.map { redacted(result, $0) } ?? result
    }

    private func redacted(
        _ result: Result<Response, any Error>, _ rules: SecretRules
    ) -> Result<Response, any Error> {
        switch result {
        case .success(var response):
            response.body = redacted(response.body, response.headers, rules)
            response.headers = redacted(response.headers, rules)
            return .success(response)
        case .failure(let error): return .failure(redacted(error, rules))
        }
    }

    /// Whether something was taken out of this text, so that it is not what was sent.
    public static func marks(_ text: String) -> Bool {
        text.contains(SensitiveHeaders.replacement) || text.contains(SecretScanner.replacementInQuery)
            || text.contains("//\(SecretScanner.replacementOfUser)@")
    }

    /// The text without its secrets.
    public func redacted(_ text: String) -> String { rules.map { $0.redacted(text) } ?? text }

    /// The URL without its secrets.
    package func redacted(url: String) -> String { rules?.change(url, .url) ?? url }

    /// The headers without their secrets.
    func redacted(_ headers: HTTPHeaders) -> HTTPHeaders { rules.map { redacted(headers, $0) } ?? headers }

    private func redacted(_ request: HTTPRequest, _ rules: SecretRules) -> HTTPRequest {
        var request = request
        request.url = rules.change(request.url, .url) ?? request.url
        request.body = redacted(request.body, request.headers, rules)
        request.headers = redacted(request.headers, rules)
        return request
    }

    private func redacted(_ headers: HTTPHeaders, _ rules: SecretRules) -> HTTPHeaders {
        var redacted = headers
        for (index, field) in headers.fields.enumerated() {
            if self.headers.contains(field.name) || rules.hides(field) {
                redacted.fields[index].value = SensitiveHeaders.replacement
            } else if let value = rules.change(field.value, Self.isURL(field) ? .url : .header) {
                redacted.fields[index].value = value
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
        return rules.change(bytes, kind, type: headers["Content-Type"]).map(HTTPBody.bytes) ?? body
    }

    private func redacted(_ error: any Error, _ rules: SecretRules) -> any Error {
        guard RecordedFailure.texts(of: error).contains(where: { rules.change($0) != nil }) else { return error }
        let failure = RecordedFailure(error)
        return RecordedFailure(kind: failure.kind, code: failure.code, reason: rules.redacted(failure.reason)).restored
    }
}

/// How to look through a text; of a body its headers say it.
enum BodyKind {
    /// No body.
    case text
    /// The value of a header.
    case header
    /// The whole of a URL.
    case url
    /// A body that its headers call a form.
    case form
    /// Any other body: it may begin with an item all the same.
    case body
    case multipart
    /// Not to be read without being decoded first.
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
    /// Whether this is the same request, by what can be compared without reading.
    fileprivate func isBuffered(as other: HTTPRequest) -> Bool {
        guard case .bytes(let own) = body, case .bytes(let others) = other.body else { return false }
        return method == other.method && url == other.url && timeout == other.timeout && headers == other.headers
            && own == others
    }
}
