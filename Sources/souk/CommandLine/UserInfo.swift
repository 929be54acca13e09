import Primitives

// Passwords and tokens in URLs are not printed, because output gets into the logs of CI systems.

extension String {
    /// The string with `http://host` in place of `http://name:password@host`, for every URL in it, also for one without
    /// a scheme: `//name:password@host`.
    var withoutUserInfo: String {
        replacing(/(^|[:\s"'(<=\[])\/\/[^\/?#\s]*@/) { "\($0.output.1)//" }
    }

    /// The string with `http://host/path` in place of `http://name:password@host/path?token=…#…`, for every URL in it.
    var withoutSecretsOfURLs: String {
        withoutUserInfo.replacing(/((?:^|[:\s"'(<=\[])\/\/[^?#\s"<>]*)[?#][^\s"<>]*/) { $0.output.1 }
    }

    /// This URL without user info, query and fragment, whatever characters they contain.
    var urlWithoutSecrets: String { String(prefix { $0 != "?" && $0 != "#" }).withoutUserInfo }
}

extension JSONValue {
    /// The value with `String.withoutUserInfo` applied to every string in it.
    var withoutUserInfo: JSONValue { changed(\.withoutUserInfo) }

    /// The value with `String.withoutSecretsOfURLs` applied to every string in it.
    var withoutSecretsOfURLs: JSONValue { changed(\.withoutSecretsOfURLs) }

    private func changed(_ change: (String) -> String) -> JSONValue {
        switch self {
        case .string(let text): .string(change(text))
        case .array(let elements): .array(elements.map { $0.changed(change) })
        case .object(let members): .object(JSONMembers(members.map { ($0.key, $0.value.changed(change)) }))
        default: self
        }
    }
}

extension TerminalText {
    /// The text without the user info, queries and fragments of URLs. For JSON, use `JSONValue.withoutSecretsOfURLs`.
    var withoutSecretsOfURLs: TerminalText { changed(\.withoutSecretsOfURLs) }
}
