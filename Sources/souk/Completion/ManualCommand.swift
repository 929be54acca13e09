import Foundation

/// `souk man`: prints a man page.
enum ManualCommand {
    static let command = Command(
        words: ["man"], summary: "Print the man page of souk or of a command", operands: ["[COMMAND]"],
        options: [.init(name: "list", help: "print the names of all pages")],
        details: """
            The Debian package installs the pages, so that man souk and man souk-serve show them. Elsewhere:
              souk man serve | man -l -
            The date of a page is that of SOURCE_DATE_EPOCH in the environment, or today.
            """
    ) { arguments in
        if arguments.has("list") {
            for name in ManualPage.names { try Terminal.print("\(name)") }
            return .success
        }
        let topic = arguments.operands.first
        if let topic, !ManualPage.topics.contains(topic) {
            let suggestion = Suggestion.sentence(for: topic, among: ManualPage.topics).map { ". \($0)" }
            throw UsageError("there is no command \(topic.quoted)\(suggestion ?? "; see souk --help")")
        }
        try Terminal.write(document: ManualPage(of: topic, at: try date()).text)
        return .success
    }

    /// The date of the pages, which a build sets so that it makes the same files each time.
    private static func date() throws -> Date {
        guard let text = ProcessInfo.processInfo.environment["SOURCE_DATE_EPOCH"], !text.isEmpty else { return Date() }
        // The last second of the year 9999.
        guard let seconds = Int64(text), (0...253_402_300_799).contains(seconds) else {
            throw UsageError("SOURCE_DATE_EPOCH is a number of seconds since 1970, not \(text.quoted)")
        }
        return Date(timeIntervalSince1970: TimeInterval(seconds))
    }
}
