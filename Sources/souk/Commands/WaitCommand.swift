import CurlTransport
import Foundation
import HTTPCore
import Primitives
import StoreModel

/// `souk wait`: returns when a service answers.
enum WaitCommand {
    static let command = Command(
        words: ["wait"], summary: "Wait until a service answers, and print its URL", operands: ["URL|FILE"],
        options: [
            .init(name: "timeout", value: "DURATION", help: "the longest time to wait (30s)"),
            .init(name: "json", help: "print one JSON value: the service's first line"),
        ],
        details: """
            FILE contains the first line of a service. So a script needs neither a fixed port nor a sleep:
              souk simulate --catalog F.storekit > store.json &
              store=$(souk wait store.json)
            A service answers when a request to it gets a response with any status except 503. Certificates
            are not checked. Exit 1 after the timeout. A name, a password and a query in URL are sent, but not printed.
            """
    ) { arguments in
        let limit = try timeout(arguments.text("timeout") ?? "30s")
        let place = try Place(arguments.operands[0])
        let clock = ContinuousClock()
        let wait = Wait(place: place, end: clock.now + limit, clock: clock)
        guard let greeting = try await Progress.shown("waiting for \(place.name)", wait.run) else {
            throw Failure("\(place.complaint) after \(arguments.text("timeout") ?? "30s")")
        }
        if arguments.has("json") {
            try Terminal.print(json: greeting.withoutSecretsOfURLs)
        } else {
            try Terminal.print("\(greeting["listening"]?.stringValue?.urlWithoutSecrets ?? "")")
        }
        return .success
    }

    private static func timeout(_ text: String) throws -> Duration {
        let start = Date(timeIntervalSince1970: 0)
        return .seconds(try Arguments.period(text).end(from: start).timeIntervalSince(start))
    }

    /// The location of the service.
    private enum Place: Sendable {
        case url(String)
        case file(String)

        /// Throws `UsageError` for a URL that is not HTTP, and for an invalid file name.
        init(_ text: String) throws {
            if text.hasPrefix("http://") || text.hasPrefix("https://") {
                self = .url(text)
            } else if text.isEmpty || text.contains("://") || text.contains(/^[\w.\-]+:\d+$/) {
                throw UsageError(
                    "URL is an http or https URL such as http://127.0.0.1:8080, and FILE the path of a file")
            } else if !text.isPlausiblePath {
                throw UsageError(path: text, "there is no such file")
            } else {
                self = .file(text)
            }
        }

        var name: String {
            switch self {
            case .url(let text): text.urlWithoutSecrets
            case .file(let text): text
            }
        }

        var complaint: String {
            switch self {
            case .url: "\(name) does not answer"
            case .file(let file): "\(file): no running service has written its first line to this file"
            }
        }

        /// Returns the service's first line, or for a URL a line with this URL only; `nil` before the line is written.
        /// Throws `UsageError` for a first line of another program.
        func greeting() throws -> JSONValue? {
            switch self {
            case .url(let url): return ["listening": .string(url)]
            case .file(let file):
                guard FileManager.default.fileExists(atPath: file) else { return nil }
                let bytes = try InputFile.read(file)
                guard let end = bytes.firstIndex(of: 0x0A) else { return nil }
                guard let greeting = try? JSONValue(parsing: Array(bytes[..<end])),
                    greeting["listening"]?.stringValue != nil
                else { throw UsageError("\(file): the first line has no URL of a service") }
                return greeting
            }
        }
    }

    private struct Wait: Sendable {
        /// The time between two attempts.
        private static let pause = Duration.milliseconds(50)

        let place: Place
        let end: ContinuousClock.Instant
        let clock: ContinuousClock
        private let transport = CurlTransport.platformDefault()

        init(place: Place, end: ContinuousClock.Instant, clock: ContinuousClock) {
            self.place = place
            self.end = end
            self.clock = clock
        }

        /// Returns the service's first line; `nil` after the timeout.
        func run() async throws -> JSONValue? {
            while true {
                if let greeting = try place.greeting(), let url = greeting["listening"]?.stringValue,
                    try await answers(url)
                {
                    return greeting
                }
                guard clock.now < end else { return nil }
                try await clock.sleep(for: min(Self.pause, end - clock.now))
            }
        }

        /// Throws `UsageError` for an invalid URL.
        private func answers(_ url: String) async throws -> Bool {
            do {
                let limit = max(.milliseconds(100), min(.seconds(5), end - clock.now))
                let response = try await transport.send(HTTPRequest(method: .get, url: url, timeout: limit))
                return response.status != 503
            } catch let error as HTTPError {
                switch error.code {
                case .invalidURL, .unsupported: throw UsageError("\(url.urlWithoutSecrets): \(error.reason)")
                // The service listens, and a client that trusts its certificate can connect.
                case .tlsFailed: return true
                default: return false
                }
            }
        }
    }
}
