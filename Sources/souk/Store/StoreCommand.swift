import SimulatorControl
import Foundation
import HTTPCore
import Primitives
import StoreKitAdapter
import StoreModel

/// `souk store`: drives a running App Store simulator.
enum StoreCommand {
    static let command: Command = Command(
        words: ["store"], summary: "Control a running App Store simulator",
        operands: ["ACTION…"], options: connection,
        details: """
            The URL is --url, else that of --profile, else SOUK_STORE_URL, else that of the default profile. Profiles are in
            $XDG_CONFIG_HOME/souk/profiles.json or ~/.config/souk/profiles.json (Documentation/Formats.md).

            Each action has --help. Documentation/ControlAPI.md has the same over HTTP.
            """,
        actions: actions
    ) { arguments in
        throw command.unknownAction(arguments.operands)
    }

    static let actions: [Command] =
        accounts + families + devices + products + purchases + offers + subscriptions + transactions
        + notifications + retentionMessages + seats + googlePlay + store

    private static let connection = StoreLocation.options + [.init(name: "json", help: "print one JSON value")]

    /// An action; `usage` has its words and, in capitals, its operands. The first operand is one of `choices`, if there
    /// are any.
    static func action(
        _ usage: String, _ summary: String, choices: [String] = [], options: [Command.Option] = [],
        _ run: @escaping @Sendable (StoreClient, Arguments) async throws -> StoreReport
    ) -> Command {
        let parts = usage.split(separator: " ").map(String.init)
        let words = parts.prefix { $0 == $0.lowercased() }
        let operands = Array(parts.dropFirst(words.count))
        return Command(
            words: ["store"] + words, summary: summary, operands: operands, operandChoices: choices,
            options: options + connection
        ) { arguments in
            let needed = operands.count { !$0.hasPrefix("[") }
            guard arguments.operands.count >= needed else {
                throw UsageError("operands are missing; write souk store \(usage)")
            }
            let report = try await run(try StoreClient(arguments), arguments)
            if arguments.has("json") { try Terminal.print(json: report.json) } else { try Terminal.print(report.text) }
            return report.succeeded ? .success : .failure
        }
    }
}

/// The result of an action, as JSON and as text.
struct StoreReport: Sendable {
    var json: JSONValue
    let text: TerminalText
    var succeeded = true

    /// The report without the user info of URLs in its JSON.
    var withoutUserInfo: StoreReport { StoreReport(json: json.withoutUserInfo, text: text, succeeded: succeeded) }
}

/// The control API of a running simulator.
struct StoreClient: Sendable {
    private let service: ServiceClient

    /// Throws `UsageError` when the simulator's URL is missing or invalid.
    init(_ arguments: Arguments) throws {
        service = ServiceClient(url: try StoreLocation(arguments).url + "/control/v1")
    }

    /// Sends a request and describes the response. Shows progress on a terminal after a second.
    func ask<Answer: Codable & Sendable>(
        _ method: HTTPRequest.Method, _ path: StorePath, _ body: (any Encodable & Sendable)? = nil,
        as type: Answer.Type, doing what: String = "asking the simulator",
        _ words: (Answer) throws -> TerminalText
    ) async throws -> StoreReport {
        let answer = try await Progress.shown(what) {
            try await service.ask(method, path.text, body, as: type, timeout: .seconds(3600))
        }
        return StoreReport(json: try WireJSON.document(answer), text: try words(answer))
    }

    func ask(
        _ method: HTTPRequest.Method, _ path: StorePath, _ body: (any Encodable & Sendable)? = nil,
        text: TerminalText
    ) async throws -> StoreReport { try await ask(method, path, body, as: JSONValue.self) { _ in text } }

    /// Sends a request whose response is a transaction, which is described in one line.
    func askForTransaction(
        _ method: HTTPRequest.Method, _ path: StorePath, _ body: (any Encodable & Sendable)? = nil
    ) async throws -> StoreReport {
        try await ask(method, path, body, as: StoreControlWire.Transaction.self, StoreText.line)
    }

    func json(_ method: HTTPRequest.Method, _ path: StorePath, _ body: JSONValue? = nil, doing what: String)
        async throws -> JSONValue
    {
        try await Progress.shown(what) {
            try await service.ask(method, path.text, body, as: JSONValue.self, timeout: .seconds(3600))
        }
    }
}

/// A path below `/control/v1`. An interpolated value becomes one segment.
struct StorePath: ExpressibleByStringInterpolation, Sendable {
    let text: String

    /// A path with the entries of `query` that have a value.
    init(_ path: String, query: [(name: String, value: String?)]) {
        let parts = query.compactMap { part in part.value.map { "\(part.name)=\(PercentEncoding.encode($0))" } }
        text = parts.isEmpty ? path : path + "?" + parts.joined(separator: "&")
    }

    init(stringLiteral value: String) { text = value }
    init(stringInterpolation: StringInterpolation) { text = stringInterpolation.text }

    struct StringInterpolation: StringInterpolationProtocol {
        var text = ""
        init(literalCapacity: Int, interpolationCount: Int) {}
        mutating func appendLiteral(_ literal: String) { text += literal }
        mutating func appendInterpolation(_ segment: String) { text += PercentEncoding.encode(segment) }
    }
}
