import Primitives

/// The schema of HAR 1.2 and its validation.
enum HARRules {
    private indirect enum Shape: Sendable {
        case text, number, flag, date
        case object([Member])
        case list(Shape)
    }

    private struct Member: Sendable {
        enum Need: Sendable {
            case required
            /// Required. `null` is a warning, because Charles writes it for values that HTTP/2 does not have.
            case nullable
            /// Browsers leave it out or write `null`, which is a warning.
            case expected
            case optional
            /// Souk does not use the member, and browsers differ in how they write it, so a violation is a warning.
            case incidental
        }

        let name: String
        let shape: Shape
        let need: Need
    }

    private static func required(_ shape: Shape, _ names: String...) -> [Member] {
        names.map { Member(name: $0, shape: shape, need: .required) }
    }

    private static func nullable(_ shape: Shape, _ names: String...) -> [Member] {
        names.map { Member(name: $0, shape: shape, need: .nullable) }
    }

    private static func expected(_ shape: Shape, _ names: String...) -> [Member] {
        names.map { Member(name: $0, shape: shape, need: .expected) }
    }

    private static func optional(_ shape: Shape, _ names: String...) -> [Member] {
        names.map { Member(name: $0, shape: shape, need: .optional) }
    }

    private static func incidental(_ shape: Shape, _ names: String...) -> [Member] {
        names.map { Member(name: $0, shape: shape, need: .incidental) }
    }

    private static func object(_ members: [Member]...) -> Shape { .object(members.flatMap { $0 }) }

    private static let comment = incidental(.text, "comment")
    private static let program = object(required(.text, "name"), nullable(.text, "version"), comment)
    private static let pair = object(required(.text, "name", "value"), comment)
    private static let cookie = object(
        required(.text, "name", "value"), incidental(.text, "path", "domain", "expires"),
        incidental(.flag, "httpOnly", "secure"), comment)
    private static let parameter = object(
        required(.text, "name"), optional(.text, "value"), incidental(.text, "fileName", "contentType"), comment)
    private static let postData = object(
        expected(.text, "mimeType"), optional(.list(parameter), "params"), optional(.text, "text"), comment)
    private static let request = object(
        required(.text, "method", "url"), nullable(.text, "httpVersion"), required(.list(cookie), "cookies"),
        required(.list(pair), "headers", "queryString"), expected(.number, "headersSize", "bodySize"),
        optional(postData, "postData"), comment)
    private static let content = object(
        expected(.number, "size"), expected(.text, "mimeType"), incidental(.number, "compression"),
        optional(.text, "text", "encoding"), comment)
    private static let response = object(
        nullable(.number, "status"), nullable(.text, "statusText", "httpVersion"),
        required(.list(cookie), "cookies"), required(.list(pair), "headers"), required(content, "content"),
        nullable(.text, "redirectURL"), expected(.number, "headersSize", "bodySize"), comment)
    private static let cacheState = object(
        optional(.text, "expires", "lastAccess", "eTag"), optional(.number, "hitCount"), comment)
    private static let cache = object(incidental(cacheState, "beforeRequest", "afterRequest"), comment)
    private static let timings = object(
        optional(.number, "blocked", "dns", "connect"), expected(.number, "send", "wait", "receive"),
        optional(.number, "ssl"), comment)
    private static let entry = object(
        optional(.text, "pageref"), nullable(.date, "startedDateTime"), expected(.number, "time"),
        required(request, "request"), required(response, "response"), nullable(cache, "cache"),
        nullable(timings, "timings"), incidental(.text, "serverIPAddress", "connection"), comment)
    private static let page = object(
        nullable(.date, "startedDateTime"), required(.text, "id"), nullable(.text, "title"),
        nullable(object(incidental(.number, "onContentLoad", "onLoad"), comment), "pageTimings"), comment)
    private static let log = object(
        required(.text, "version"), required(program, "creator"), optional(program, "browser"),
        optional(.list(page), "pages"), required(.list(entry), "entries"), comment)
    private static let document = object(required(log, "log"))

    /// Returns the findings about the schema and then, if none of them is an error, those about the values.
    static func findings(in json: JSONValue) -> [HARFinding] {
        var check = Check()
        check.value(json, document, at: "")
        guard !check.findings.contains(where: \.isError) else { return check.findings }
        check.meaning(of: json)
        return check.findings
    }

    private struct Check {
        var findings: [HARFinding] = []

        mutating func error(_ pointer: String, _ reason: String) {
            findings.append(HARFinding(isError: true, pointer: pointer, reason: reason))
        }

        mutating func warning(_ pointer: String, _ reason: String) {
            findings.append(HARFinding(isError: false, pointer: pointer, reason: reason))
        }

        mutating func value(_ json: JSONValue, _ shape: Shape, at pointer: String) {
            switch (shape, json) {
            case (.text, .string), (.number, .number), (.flag, .bool): break
            case (.date, .string("")): warning(pointer, "the date and time is empty")
            case (.date, .string(let text)):
                if HAREntry.date(text) == nil { error(pointer, "this is not a date and time of ISO 8601") }
            case (.list(let shape), .array(let elements)):
                for (index, element) in elements.enumerated() { value(element, shape, at: "\(pointer)/\(index)") }
            case (.object(let members), .object(let present)):
                for member in members { check(member, present[member.name], in: pointer) }
            case (.text, _), (.date, _): error(pointer, "a string is expected here")
            case (.number, _): error(pointer, "a number is expected here")
            case (.flag, _): error(pointer, "true or false is expected here")
            case (.list, _): error(pointer, "an array is expected here")
            case (.object, _): error(pointer, "an object is expected here")
            }
        }

        private mutating func check(_ member: Member, _ json: JSONValue?, in pointer: String) {
            if let json, !json.isNull {
                let earlier = findings.count
                value(json, member.shape, at: "\(pointer)/\(member.name)")
                guard member.need == .incidental else { return }
                findings[earlier...] = ArraySlice(
                    findings[earlier...].map { HARFinding(isError: false, pointer: $0.pointer, reason: $0.reason) })
                return
            }
            switch member.need {
            case .optional, .incidental: break
            case .nullable where json != nil: warning("\(pointer)/\(member.name)", "the value is null")
            case .required, .nullable: error(pointer, "the member \"\(member.name)\" is missing")
            case .expected: warning(pointer, "the member \"\(member.name)\" is missing")
            }
        }

        /// Checks the values of a document with a valid schema.
        mutating func meaning(of json: JSONValue) {
            let log = json["log"] ?? .null
            if let version = log["version"]?.stringValue, version != "1.2", version != "1.1" {
                warning("/log/version", "the version is \"\(version)\", read as 1.2")
            }
            let pages = Set((log["pages"]?.arrayValue ?? []).compactMap { $0["id"]?.stringValue })
            for (index, entry) in (log["entries"]?.arrayValue ?? []).enumerated() {
                let pointer = "/log/entries/\(index)"
                if let page = entry["pageref"]?.stringValue, !pages.contains(page) {
                    warning("\(pointer)/pageref", "there is no page \"\(page)\"")
                }
                times(of: entry, at: pointer)
                let content = entry["response"]?["content"]
                if let text = content?["text"]?.stringValue, let encoding = content?["encoding"]?.stringValue,
                    !encoding.isEmpty
                {
                    if encoding.lowercased() != "base64" {
                        warning(
                            "\(pointer)/response/content/encoding",
                            "the encoding \"\(encoding)\" is not known; only base64 is known")
                    } else if HAREntry.base64(text) == nil {
                        error("\(pointer)/response/content/text", "this is not base64")
                    }
                }
            }
        }

        private mutating func times(of entry: JSONValue, at pointer: String) {
            let timings = entry["timings"] ?? .null
            var sum = 0.0
            for name in ["blocked", "dns", "connect", "send", "wait", "receive"] {
                guard let time = timings[name]?.doubleValue else { continue }
                if time < 0, time != -1 {
                    warning("\(pointer)/timings/\(name)", "a time cannot be negative, except -1, which means no value")
                }
                sum += max(0, time)
            }
            guard let time = entry["time"]?.doubleValue else { return }
            if time < 0 { return warning("\(pointer)/time", "a time cannot be negative") }
            if abs(sum - time) > 1 {
                warning(
                    "\(pointer)/time",
                    "the time is \(Self.text(time)) ms, but the timings add up to \(Self.text(sum)) ms")
            }
        }

        private static func text(_ time: Double) -> String { JSONNumber((time * 1000).rounded() / 1000).text }
    }
}
