import Foundation
import HTTPCore
import Primitives

/// A record's request as a command for a POSIX shell: what was sent, byte for byte, when `curl` runs it.
///
///     print(CurlCommand(record).text)       // curl --globoff … 'https://example.com/v1/things'
///
/// Only the headers of the record are sent: those that curl would add are switched off. A body that cannot stand in a
/// command, because it is no text, has control characters or is too long, is to be in a file beside it.
///
/// The command is one line without control characters, whatever the record holds, so it can be pasted into a terminal. There
/// an interrupt character would end the word that it is in, and what follows would run as a command.
public struct CurlCommand: Sendable {
    /// The command, without a line end.
    public let text: String
    /// The file that the command reads the body from, in the folder that it is run in; `nil` when the body is in the command.
    public let file: (name: String, bytes: [UInt8])?

    /// The longest body that stands in the command: a system takes no longer word.
    private static let longestWord = 100_000

    /// The command for the request that was sent. A body that was cut is what was recorded of it.
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
        // Curl's own, where the record has none; `Expect` it would add to a long body.
        for name in ["User-Agent", "Accept", "Content-Type", "Expect"] where !request.headers.contains(name) {
            if ["Content-Type", "Expect"].contains(name), !Self.sendsBody(request) { continue }
            words += ["--header", Self.quoted("\(name):")]
        }
        guard Self.sendsBody(request) else {
            (text, file) = (words.joined(separator: " "), nil)
            return
        }
        if let body = String(utf8: body), body.utf8.count <= Self.longestWord, body.utf8.last != 0x0A,
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

    /// Requests that say how long their body is send it, also when it is empty.
    private static func sendsBody(_ request: HTTPRequest) -> Bool {
        request.method != .head
            && (request.body.length != 0 || [.post, .put, .patch].contains(request.method))
    }

    /// Whether a terminal, or who reads the command in it, may take this for something else: a control character, or one
    /// that changes the direction of the text.
    private static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.generalCategory == .control || scalar.properties.isBidiControl
    }

    /// One word for a POSIX shell. With unsafe characters it is what `printf` writes. Line ends are among them, because a
    /// shell reads a command line by line, and old ones expand `!` and cut long lines, each of which can end the quotes.
    static func quoted(_ word: String) -> String {
        if word.unicodeScalars.contains(where: isUnsafe) {
            return "\"$(printf -- '\(word.unicodeScalars.map(printed).joined())')\""
        }
        let isPlain =
            !word.isEmpty
            && word.utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                    || "-_./:@%+,".utf8.contains(byte)
            }
        return isPlain ? word : "'\(word.replacing("'", with: "'\\''"))'"
    }

    /// A character in the first argument of `printf`, in single quotes inside of double quotes.
    private static func printed(_ scalar: Unicode.Scalar) -> String {
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
