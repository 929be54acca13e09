import AppStorePayloads
import Foundation
import HTTPCore
import Primitives
import StoreModel

/// A transport in place of the app's server. It answers notifications of both stores, and realtime requests, with the
/// responses that the scenario sets, without a listener. If the scenario has a server, it passes notifications on.
final class ScenarioReceiver: HTTPTransport {
    /// The responses to the attempts to send one notification, in order. The last one is repeated.
    struct Script: Sendable, Hashable {
        fileprivate let answers: [Answer]

        static let accepting = Script(answers: [.status(200)])
        static let serving = Script(answers: [.server])
    }

    fileprivate enum Answer: Sendable, Hashable {
        case status(Int)
        /// The server of the scenario answers.
        case server
        case redirect
        case failure(HTTPError.Code)
        case json(JSONValue)
    }

    private struct State {
        var script = Script.accepting
        /// The number of attempts for each notification since the script was set.
        var attempts: [String: Int] = [:]
        var realtimeAnswer = Answer.json([:])
        var server: (any HTTPTransport)?
    }

    private let state = Locked(State())

    /// Sets the script of later attempts.
    func follow(_ script: Script) {
        state.withLock { state in
            state.script = script
            state.attempts = [:]
        }
    }

    /// Passes later notifications on to a server, unless a script says otherwise.
    func connect(to server: any HTTPHandler) {
        state.withLock { $0.server = InProcessTransport(server) }
        follow(.serving)
    }

    /// Sets the answer to later realtime requests.
    func answerRealtimeRequests(_ answer: RealtimeAnswer) { state.withLock { $0.realtimeAnswer = answer.answer } }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        let body = try await request.body.json()
        let payload = body["signedPayload"]?.stringValue.flatMap(SignedContent.json)
        let message = body["message"]?["messageId"]?.stringValue.map { "Google Play \($0)" }
        let uuid = payload?["notificationUUID"]?.stringValue ?? message
        let (answer, server) = state.withLock { state in
            if payload?["requestIdentifier"] != nil { return (state.realtimeAnswer, state.server) }
            let count = state.attempts[uuid ?? "", default: 0]
            state.attempts[uuid ?? ""] = count + 1
            return (state.script.answers[min(count, state.script.answers.count - 1)], state.server)
        }
        switch answer {
        case .status(let status): return HTTPResponse(status: status)
        case .server:
            guard let server else { throw HTTPError(.connectionFailed, "The scenario has no server.") }
            return try await server.send(request)
        case .json(let json): return HTTPResponse(status: 200, json: json)
        case .redirect: return HTTPResponse(status: 307, headers: ["Location": request.url])
        case .failure(let code): throw HTTPError(code, "The scenario sets this failure of the receiver.")
        }
    }
}

extension ScenarioReceiver {
    /// The answer to realtime requests: a status, a word, or the JSON of a response.
    struct RealtimeAnswer: Sendable {
        fileprivate let answer: Answer

        init(_ place: JSONPlace, _ context: ScenarioContext) throws {
            if case .object = place.value {
                answer = .json(place.value)
            } else if let answer = try ScenarioReceiver.Script.answer(place, context) {
                self.answer = answer
            } else {
                throw place.finding(
                    "this should be Apple's RealtimeResponseBody, a status such as 500, or one of \(Script.choices(context))"
                )
            }
        }
    }
}

extension ScenarioReceiver.Script {
    /// The responses other than a status, by their word.
    private static let words: [String: ScenarioReceiver.Answer] = [
        "down": .failure(.connectionFailed), "slow": .failure(.timeout), "silent": .failure(.noAnswer),
        "closes": .failure(.connectionLost), "badCertificate": .failure(.tlsFailed),
        "nonsense": .failure(.protocolError), "redirects": .redirect, "server": .server,
    ]

    private static let limit = 100

    /// Reads one response or a list of them: HTTP statuses and words.
    init(_ place: JSONPlace, _ context: ScenarioContext) throws {
        let places = place.elements ?? [place]
        guard (1...Self.limit).contains(places.count) else {
            throw place.finding("there should be 1 to \(Self.limit) answers")
        }
        var answers: [ScenarioReceiver.Answer] = []
        for place in places {
            guard let answer = try Self.answer(place, context) else {
                throw place.finding(
                    "a receiver answers with a status such as 200 or 500, or one of \(Self.choices(context))")
            }
            answers.append(answer)
        }
        self.init(answers: answers)
    }

    fileprivate static func answer(
        _ place: JSONPlace, _ context: ScenarioContext
    ) throws -> ScenarioReceiver.Answer? {
        if let status = place.value.intValue, (100...599).contains(status) { return .status(status) }
        let answer = place.value.stringValue.flatMap { words[$0] }
        if answer == .server { try context.requireServer(place, "this answer") }
        return answer
    }

    fileprivate static func choices(_ context: ScenarioContext) -> String {
        words.filter { $0.value != .server || context.answer != nil }.keys.sorted().joined(separator: ", ")
    }
}

/// The payloads of JWS values, read without verification.
enum SignedContent {
    /// The schemas of the payloads, by the member of a response that has the JWS.
    static let schemas: [String: PayloadSchema] = [
        "signedTransaction": JWSTransactionDecodedPayload.schema,
        "signedTransactionInfo": JWSTransactionDecodedPayload.schema,
        "signedRenewalInfo": JWSRenewalInfoDecodedPayload.schema,
        "signedAppTransactionInfo": AppTransaction.schema,
        "signedPayload": ResponseBodyV2DecodedPayload.schema,
    ]

    static func json(_ text: String) -> JSONValue? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let bytes = Base64.decodeURL(Array(parts[1].utf8)) else { return nil }
        return try? JSONValue(parsing: bytes)
    }

    /// Returns the value with each JWS replaced by its payload.
    static func decoded(_ value: JSONValue) -> JSONValue {
        switch value {
        case .array(let elements): .array(elements.map(decoded))
        case .object(let members):
            .object(
                JSONMembers(
                    members.map { name, value in
                        let content = schemas[name] == nil ? nil : value.stringValue.flatMap(json)
                        return (name, decoded(content ?? value))
                    }))
        default: value
        }
    }
}
