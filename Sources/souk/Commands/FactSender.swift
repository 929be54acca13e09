import Foundation
import HTTPCore
import Primitives
import StoreModel

/// Sends facts to an entitlement server for `souk import` and `souk sync`. Waits when the server requests it, retries
/// when the server does not answer or has an error, and separates errors of a fact from errors of the request.
struct FactSender: Sendable {
    enum Outcome: Sendable {
        case done(JSONValue)
        /// The server rejected the fact. Sending it again does not help.
        case rejected(code: String, detail: String)
    }

    static let options: [Command.Option] = [
        .init(name: "url", value: "SERVER", help: "the URL of the entitlement server"),
        .init(name: "key-file", value: "F", help: "the file that holds the app's secret key"),
        .init(
            name: "environment", value: "E", help: "production, sandbox or xcode (the first environment of the server)",
            choices: SignedDataOptions.environmentNames),
    ]

    private let client: ServiceClient
    private let backoff: Backoff

    init(_ client: ServiceClient, backoff: Backoff) {
        self.client = client
        self.backoff = backoff
    }

    init(_ arguments: Arguments) throws {
        self.init(try Self.client(arguments), backoff: Backoff(attempts: 10, maximum: .seconds(60)))
    }

    /// Returns a client of the server that `--url` names, with the key and the environment of `options`.
    static func client(_ arguments: Arguments) throws -> ServiceClient {
        let url = try arguments.required("url")
        let key = try InputFile.text(try arguments.required("key-file"))
        guard !key.isEmpty, !key.contains(where: \.isWhitespace) else {
            throw UsageError("the file of --key-file should hold one key and nothing else")
        }
        var headers: HTTPHeaders = ["Authorization": "Bearer \(key)"]
        if let name = arguments.text("environment") {
            let environment = try SignedDataOptions.environment(named: name, among: [.production, .sandbox, .xcode])
            headers.add("Souk-Environment", environment.rawValue)
        }
        return ServiceClient(url: url.hasSuffix("/") ? String(url.dropLast()) : url, headers: headers)
    }

    func post(_ path: String, _ body: JSONValue) async throws -> Outcome { try await send(.post, path, body) }

    func get(_ path: String) async throws -> JSONValue {
        switch try await send(.get, path, nil) {
        case .done(let answer): return answer
        case .rejected(_, let detail): throw Failure(detail)
        }
    }

    /// Throws `Failure` when the server cannot be reached, and `UsageError` when it rejects the key or has no such
    /// endpoint.
    private func send(
        _ method: HTTPRequest.Method, _ path: String, _ body: JSONValue?
    ) async throws -> Outcome {
        var attempt = 1
        while true {
            let pause: Duration?
            let sentence: String
            do {
                let answer = try await client.send(method, path, body, timeout: .seconds(60))
                let detail = answer.json["detail"]?.stringValue ?? "the server answered with status \(answer.status)"
                switch answer.status {
                case 200..<300:
                    // A page of a proxy does not show whether the server received the request.
                    guard case .object = answer.json else {
                        throw Failure("\(client.url) did not answer as an entitlement server")
                    }
                    return .done(answer.json)
                case 400, 413, 422:
                    return .rejected(code: answer.json["code"]?.stringValue ?? "refused", detail: detail)
                case 401, 403, 404, 405, 501: throw UsageError("\(client.url): \(detail)")
                default:
                    let asked = answer.headers["Retry-After"].flatMap { Int64($0) }.map { Duration.seconds($0) }
                    pause = backoff.pause(after: attempt, asked: asked, spread: .random(in: 0...1))
                    sentence = "\(client.url): \(detail)"
                }
            } catch let failure as Failure {
                pause = backoff.pause(after: attempt, asked: nil, spread: .random(in: 0...1))
                sentence = failure.sentence
            }
            guard let pause else { throw Failure("\(sentence); run the same command again to continue") }
            try await Task.sleep(for: pause)
            attempt += 1
        }
    }
}

/// The number of accepted facts, and the numbers of rejected facts by code. Kept in a state file between runs.
struct FactReport: Codable, Sendable {
    struct Rejection: Codable, Sendable {
        var count = 0
        /// The places of the first rejected facts.
        var places: [String] = []
        /// The detail of the first rejected fact.
        var detail = ""
    }

    private static let placesShown = 20
    /// The largest count that is read from a state file. No run comes near it, so sums of counts cannot overflow.
    private static let largestCount = 1 << 53

    var accepted = 0
    var rejections: [String: Rejection] = [:]

    var rejected: Int { rejections.values.reduce(0) { $0 + $1.count } }

    /// Whether this program can have written these numbers.
    var isPlausible: Bool {
        var left = Self.largestCount
        for rejection in rejections.values {
            guard (1...Self.largestCount).contains(rejection.count), rejection.count <= left,
                rejection.places.count == min(rejection.count, Self.placesShown)
            else { return false }
            left -= rejection.count
        }
        return (0...Self.largestCount).contains(accepted)
    }

    mutating func reject(_ code: String, _ detail: String, at place: String) {
        var rejection = rejections[code] ?? Rejection(detail: detail)
        rejection.count += 1
        if rejection.places.count < Self.placesShown { rejection.places.append(place) }
        rejections[code] = rejection
    }

    /// Counts the server's results for transactions that were presented.
    mutating func take(_ outcome: FactSender.Outcome, at place: String) {
        switch outcome {
        case .rejected(let code, let detail): reject(code, detail, at: place)
        case .done(let answer):
            accepted += answer["acknowledgedTransactionIDs"]?.arrayValue?.count ?? 0
            for rejected in answer["rejected"]?.arrayValue ?? [] {
                reject(rejected["code"]?.stringValue ?? "refused", rejected["detail"]?.stringValue ?? "", at: place)
            }
        }
    }

    var json: JSONValue {
        [
            "accepted": .number(accepted), "rejected": .number(rejected),
            "rejections": .array(
                rejections.sorted { $0.key < $1.key }.map { code, rejection in
                    [
                        "code": .string(code), "count": .number(rejection.count), "detail": .string(rejection.detail),
                        "places": .array(rejection.places.map { .string($0) }),
                    ]
                }),
        ]
    }

    /// One line for each code.
    var lines: [TerminalText] {
        rejections.sorted { $0.key < $1.key }.map { code, rejection in
            let more = rejection.count > rejection.places.count ? ", …" : ""
            return """
                  \(code): \(rejection.count) at \(rejection.places.joined(separator: ", "))\(more)
                    \(rejection.detail)
                """
        }
    }
}

/// The progress of a command, which it keeps in a `StateFile`.
protocol ResumableState: Codable {
    /// Whether the command can have written this. A file can be well-formed and have impossible counts.
    var isPlausible: Bool { get }
}

/// A small file in which a command saves its progress.
struct StateFile<State: ResumableState> {
    let path: String

    /// Returns `nil` when there is no file. Throws `UsageError` for a file that this command did not write. A file in
    /// another format may be the user's own, so the error for it does not advise to remove the file.
    func read() throws -> State? {
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        let bytes = try InputFile.read(path)
        guard let state = try? WireJSON.decode(State.self, from: bytes) else {
            throw UsageError("\(path): this is no state file of this command; name another file with --state")
        }
        guard state.isPlausible else {
            throw UsageError("\(path): this is no state file of this command; remove it to start again")
        }
        return state
    }

    func write(_ state: State) throws {
        try OutputFile.replace(path, with: WireJSON.encode(state))
    }

    func remove() { try? FileManager.default.removeItem(atPath: path) }
}
