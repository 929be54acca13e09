import Foundation
import HTTPCore
import Primitives

extension Redaction {
    /// Returns the exchange without its secrets, for display. A file of another program may contain secrets.
    ///
    /// URLs, headers, query and form items, and bodies are redacted as in a record. Everything else is redacted as
    /// JSON, including unknown members. All values of cookies are removed.
    package func redacted(_ entry: HAREntry) -> HAREntry {
        guard case .object(var members) = entry.json else { return entry }
        let (plain, shown) = (entry.record, redactedAsDecoded(entry.record))
        // Bodies and cookies are redacted here, and are put back after the rest is redacted as JSON.
        var done: [(path: [String], value: JSONValue)] = []
        let requests = ["request": (plain.designatedRequest.body, shown.designatedRequest.body)].merging(
            members["_original"] == nil
                ? [:] : ["_original": (plain.originalRequest.body, shown.originalRequest.body)]
        ) { first, _ in first }
        for (name, body) in requests {
            guard case .object(var request)? = members[name] else { continue }
            redactHead(&request)
            if let cookies = request["cookies"] { done.append(([name, "cookies"], self.cookies(cookies))) }
            if case .object(var posted)? = request["postData"] {
                if let text = text(posted, posted["_encoding"] ?? posted["encoding"], body.0, body.1) {
                    done.append(([name, "postData", "text"], .string(text)))
                    posted["text"] = ""
                }
                posted["params"] = posted["params"].map(items)
                request["postData"] = .object(posted)
            }
            members[name] = .object(request)
        }
        if case .object(var response)? = members["response"] {
            redactHead(&response)
            if let cookies = response["cookies"] { done.append((["response", "cookies"], self.cookies(cookies))) }
            if case .object(var content)? = response["content"] {
                let body = (plain.response?.body ?? .empty, shown.response?.body ?? .empty)
                if let text = text(content, content["encoding"], body.0, body.1) {
                    done.append((["response", "content", "text"], .string(text)))
                    content["text"] = ""
                }
                response["content"] = .object(content)
            }
            members["response"] = .object(response)
        }
        let rest = redacted(JSONValue.object(members).text())
        guard var json = try? JSONValue(parsing: Array(rest.utf8)) else {
            return HARDocument([shown]).entries.first ?? HAREntry([:])
        }
        for part in done { json.put(part.value, at: part.path[...]) }
        return HAREntry(json)
    }

    /// Removes secrets from the parts of a request or response other than its body.
    private func redactHead(_ message: inout JSONMembers) {
        for name in ["url", "redirectURL"] {
            if let url = message[name]?.stringValue { message[name] = .string(redacted(url: url)) }
        }
        message["headers"] = message["headers"].map { changed($0, header) }
        message["queryString"] = message["queryString"].map(items)
    }

    /// Returns the cookies without their values.
    private func cookies(_ list: JSONValue) -> JSONValue {
        let list = changed(list) { _, _ in SensitiveHeaders.replacement }
        return (try? JSONValue(parsing: Array(redacted(list.text()).utf8))) ?? []
    }

    /// Returns the list of objects with each `value` changed.
    private func changed(_ list: JSONValue, _ change: (_ name: String, _ value: String) -> String) -> JSONValue {
        guard case .array(let elements) = list else { return list }
        return .array(
            elements.map { element in
                guard case .object(var members) = element, let value = members["value"]?.stringValue else {
                    return element
                }
                members["value"] = .string(change(members["name"]?.stringValue ?? "", value))
                return .object(members)
            })
    }

    /// Redacts a header value. HTTP/2 pseudo-header fields begin with a colon; `:path` is a URL.
    private func header(_ name: String, _ value: String) -> String {
        if name == ":path" { return redacted(url: value) }
        let field = HTTPHeaders.Field(name: String(name.drop { $0 == ":" }), value: value)
        return redacted(HTTPHeaders([field])).fields.first?.value ?? value
    }

    /// Redacts the items of a query or a form, each as in a URL.
    private func items(_ list: JSONValue) -> JSONValue {
        changed(list) { name, value in
            let url = "/?" + HTTPQuery([(name, value)]).encoded
            let redacted = redacted(url: url)
            guard redacted != url else { return value }
            return HTTPQuery(parsing: String(redacted.dropFirst(2)))?.items.first?.value
                ?? SensitiveHeaders.replacement
        }
    }

    /// Returns the member `text` of a body without its secrets, or `nil` if it has none.
    private func text(
        _ members: JSONMembers, _ encoding: JSONValue?, _ plain: HTTPBody, _ shown: HTTPBody
    ) -> String? {
        guard let text = members["text"]?.stringValue, !text.isEmpty else { return nil }
        let (plain, shown) = (plain.buffered ?? [], shown.buffered ?? [])
        if plain.isEmpty { return redacted(text) }
        guard plain != shown else { return text }
        return encoding?.stringValue?.lowercased() == "base64"
            ? Data(shown).base64EncodedString() : String(decoding: shown, as: UTF8.self)
    }
}

extension JSONValue {
    /// Replaces a nested member.
    fileprivate mutating func put(_ value: JSONValue, at path: ArraySlice<String>) {
        guard let name = path.first else { return self = value }
        guard case .object(var members) = self, var inner = members[name] else { return }
        inner.put(value, at: path.dropFirst())
        members[name] = inner
        self = .object(members)
    }
}
