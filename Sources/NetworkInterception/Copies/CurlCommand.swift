import Foundation
import HTTPCore
import Primitives

/// A record's request as a command for a POSIX shell, which sends the same bytes.
///
///     print(CurlCommand(record).text)       // curl --globoff … 'https://example.com/v1/things'
///
/// The command sends the headers of the record and disables the others that curl adds, except `Host` and
/// `Content-Length`. The body is in a separate file if it is not text, is too long for a command or ends with a line
/// feed. The same applies to a body with characters that change the direction of text, or control characters other than
/// line feeds and tabs.
///
/// The command is one line without control characters, so that it can be pasted into a terminal. A control character
/// could end a quoted word, and the text after it would run as a command.
public struct CurlCommand: Sendable {
    /// The command, without a line end.
    public let text: String
    /// The file from which the command reads the body, relative to the working directory; `nil` if the body is in the
    /// command.
    public let file: (name: String, bytes: [UInt8])?

    /// The longest body in a command, in bytes. Systems limit the length of an argument.
    private static let maximumInlineBytes = 100_000

    /// Creates the command for the request that was sent, `Record.designatedRequest`. If its body was truncated in the
    /// record, the command sends the recorded bytes.
    ///
    /// - Parameter record: The record.
    public init(_ record: Record) {
        let request = record.designatedRequest
        let body = request.body.buffered ?? []
        var words = ["curl", "--globoff", "--path-as-is", "--http1.1"]
        if request.method == .head {
            words.append("--head")
        } else if request.method != (Self.sendsBody(request) ? .post : .get) {
            words += ["--request", Self.quoted(request.method.rawValue)]
        }
        words.append(Self.quoted(request.url))
        words += request.headers.fields.filter { !$0.name.equalsIgnoringCase("Content-Length") }.flatMap { field in
            ["--header", Self.quoted(field.value.isEmpty ? "\(field.name);" : "\(field.name): \(field.value)")]
        }
        // Disables the headers that curl adds; it adds `Expect` for a long body.
        for name in ["User-Agent", "Accept", "Content-Type", "Expect"] where !request.headers.contains(name) {
            if ["Content-Type", "Expect"].contains(name), !Self.sendsBody(request) { continue }
            words += ["--header", Self.quoted("\(name):")]
        }
        guard Self.sendsBody(request) else {
            (text, file) = (words.joined(separator: " "), nil)
            return
        }
        if let body = String(utf8: body), body.utf8.count <= Self.maximumInlineBytes, body.utf8.last != 0x0A,
            !body.unicodeScalars.contains(where: { !"\n\t".unicodeScalars.contains($0) && Self.isUnsafe($0) })
        {
            (text, file) = ((words + ["--data-raw", Self.quoted(body)]).joined(separator: " "), nil)
        } else {
            let name = "body-\(record.id.uuidString.prefix(8).lowercased()).bin"
            (text, file) = (
                (words + ["--data-binary", "@\(name)"]).joined(separator: " "), (name: name, bytes: body)
            )
        }
    }

    /// Whether curl sends a body, which may be empty.
    private static func sendsBody(_ request: HTTPRequest) -> Bool {
        request.method != .head
            && (request.body.length != 0 || [.post, .put, .patch].contains(request.method))
    }

    /// Whether the character could control a terminal or mislead a reader: a control character, or a character that
    /// changes the direction of the text.
    private static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.generalCategory == .control || scalar.properties.isBidiControl
    }

    /// Returns one word for a POSIX shell. A word with unsafe characters becomes the output of `printf`. Line ends are
    /// unsafe, because a shell reads a quotation of several lines line by line. An old shell can expand `!` in a line
    /// or cut a long line, and so end the quotation early.
    static func quoted(_ word: String) -> String {
        if word.unicodeScalars.contains(where: isUnsafe) {
            return "\"$(printf -- '\(word.unicodeScalars.map(printfEscaped).joined())')\""
        }
        let isPlain =
            !word.isEmpty
            && word.utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                    || "-_./:@%+,".utf8.contains(byte)
            }
        return isPlain ? word : "'\(word.replacing("'", with: "'\\''"))'"
    }

    /// Returns a character, escaped for an argument of `printf` in single quotation marks inside of double quotation
    /// marks.
    private static func printfEscaped(_ scalar: Unicode.Scalar) -> String {
        switch scalar {
        case "\n": "\\n"
        case "\t": "\\t"
        case "%": "%%"
        case "\\": "\\\\"
        default:
            scalar == "'" || scalar == "!" || isUnsafe(scalar)
                ? String(scalar).utf8.map { "\\" + ("00" + String($0, radix: 8)).suffix(3) }.joined() : String(scalar)
        }
    }
}
