import Foundation
import HTTPCore
import Primitives
import StoreKitAdapter
import StoreModel

/// One thing that can be asked of the store over HTTP, with everything there is to say about it. The routes, the OpenAPI
/// document, the list in `Documentation/ControlAPI.md` and tests are made of these.
struct StoreOperation: Sendable {
    let method: HTTPRequest.Method
    /// With `{name}` for each parameter of `StoreOperation.parameters`.
    let path: String
    /// A verb and what it is about, in camel case.
    let id: String
    /// What it does, without a full stop.
    let summary: String
    let query: [QueryParameter]
    let body: Body?
    let status: Int
    let answer: any WireModel.Type
    /// Beyond those that the path and the body bring along.
    let refusals: [SimulatorError.Code]
    /// Whether a `StoreFailure` may be the answer.
    let maySell: Bool
    let respond: @Sendable (StoreCall) async throws -> any Encodable & Sendable

    struct QueryParameter: Sendable {
        let name: String
        let schema: WireSchema
        let summary: String
        var repeats = false
    }

    struct Body: Sendable {
        let model: any WireModel.Type
        /// Whether there may be none, which is `{}`.
        let isOptional: Bool
        let limit: Int
    }

    /// The side of the store it belongs to: the first segment of its path.
    var side: String { String(path.split(separator: "/").first ?? "") }

    /// The names of the path's parameters, in order.
    var pathParameters: [String] {
        path.split(separator: "/").filter { $0.hasPrefix("{") }.map { String($0.dropFirst().dropLast()) }
    }

    static let bodyLimit = 64 << 10

    /// An operation without a body.
    static func on<Answer: Encodable & Sendable & WireModel>(
        _ method: HTTPRequest.Method, _ path: String, _ id: String, _ summary: String, query: [QueryParameter] = [],
        status: Int = 200, refusals: [SimulatorError.Code] = [], maySell: Bool = false,
        _ respond: @escaping @Sendable (StoreCall) async throws -> Answer
    ) -> StoreOperation {
        StoreOperation(
            method: method, path: path, id: id, summary: summary, query: query, body: nil, status: status,
            answer: Answer.self, refusals: refusals, maySell: maySell, respond: respond)
    }

    /// An operation with a body.
    static func on<Question: Decodable & WireModel & SendableMetatype, Answer: Encodable & Sendable & WireModel>(
        _ method: HTTPRequest.Method, _ path: String, _ id: String, _ summary: String, query: [QueryParameter] = [],
        taking question: Question.Type, isOptional: Bool = false, limit: Int = bodyLimit, status: Int = 200,
        refusals: [SimulatorError.Code] = [], maySell: Bool = false,
        _ respond: @escaping @Sendable (StoreCall, Question) async throws -> Answer
    ) -> StoreOperation {
        StoreOperation(
            method: method, path: path, id: id, summary: summary, query: query,
            body: Body(model: question, isOptional: isOptional, limit: limit), status: status, answer: Answer.self,
            refusals: refusals, maySell: maySell
        ) { call in
            try await respond(call, try WireJSON.decode(question, from: call.body))
        }
    }
}

extension StoreOperation {
    /// Every operation there is, in the order of the documents.
    static let all: [StoreOperation] =
        device + clock + accounts + families + devices + catalogue + purchases + subscriptions + transactions
        + notifications + state + documents

    /// What stands in paths: what it names, and the refusal for one that is not there.
    static let parameters: [String: (summary: String, refusal: SimulatorError.Code?)] = [
        "account": ("the name of an account", .unknownAccount),
        "device": ("a device, as signing in named it", .unknownDevice),
        "transaction": ("the number of a transaction or of a pending order", .unknownTransaction),
        "family": ("the name of a family", .unknownFamily),
        "member": ("the name of an account", .unknownAccount),
        "product": ("a product of the catalogue", .unknownProduct),
        "notification": ("the UUID of a notification", .unknownNotification),
        "setting": ("the name of a setting, see Documentation/Formats.md", .unknownSetting),
        "message": ("the id of a message", .unknownMessage),
    ]

    /// Every code that it may refuse with, beside those of a `StoreFailure`.
    var allRefusals: [SimulatorError.Code] {
        var codes = pathParameters.compactMap { Self.parameters[$0]?.refusal } + refusals
        if body != nil || !query.isEmpty || !pathParameters.isEmpty { codes.append(.malformed) }
        return codes.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }
}

/// A question as it came, taken apart.
struct StoreCall: Sendable {
    let store: SimulatedAppStore
    let path: PathParameters
    let query: HTTPQuery
    /// The body, of the form that the operation asks for; `{}` where there was none.
    let body: JSONValue

    /// Reads a request, and refuses what the operation's schemas do not allow.
    init(_ request: HTTPRequest, _ path: PathParameters, of operation: StoreOperation, store: SimulatedAppStore)
        async throws
    {
        self.store = store
        self.path = path
        guard let query = request.query else {
            throw SimulatorError(.malformed, "An escape in the query is incomplete or is not UTF-8.")
        }
        self.query = query
        for parameter in operation.query {
            let values = query.values(parameter.name)
            guard values.count <= 1 || parameter.repeats else {
                throw WireSchema.Violation(path: [parameter.name], rule: "there once only")
            }
            for value in values {
                if let violation = parameter.schema.violation(Self.json(value, like: parameter.schema)) {
                    throw violation.below(parameter.name)
                }
            }
        }
        guard let wanted = operation.body else {
            body = [:]
            return
        }
        let bytes = try await request.body.collect(upTo: wanted.limit)
        body = bytes.isEmpty && wanted.isOptional ? [:] : try JSONValue(parsing: bytes)
        if let violation = wanted.model.schema.violation(body) { throw violation }
    }

    /// A query's value as JSON: a number where the schema wants one.
    private static func json(_ text: String, like schema: WireSchema) -> JSONValue {
        guard ["integer", "number"].contains(schema.json["type"]?.stringValue) else { return .string(text) }
        return JSONNumber(text: text).map { .number($0) } ?? .string(text)
    }

    // MARK: - What the path names

    var account: AccountName { get throws { try name("account") } }
    var member: AccountName { get throws { try name("member") } }
    var family: FamilyName { get throws { try name("family") } }
    var product: ProductID { get throws { try name("product") } }
    var transaction: TransactionID { get throws { try name("transaction") } }
    var device: DeviceID { get throws { try name("device") } }

    private func name<ID: Identifier>(_ parameter: String) throws -> ID {
        guard let id = ID(rawValue: path[parameter]) else {
            throw SimulatorError(.malformed, "The \(parameter) in the path should have \(ID.rule).")
        }
        return id
    }

    // MARK: - The query

    func integer(_ name: String) -> Int64? { query[name].flatMap { Int64($0) } }

    /// 0 where there is none.
    func seconds(_ name: String) -> Double { query[name].flatMap { JSONNumber(text: $0)?.double } ?? 0 }

    func identifier<ID: Identifier>(_ name: String) -> ID? { query[name].flatMap(ID.init(rawValue:)) }

    var productIDs: [ProductID] { query.values("id").compactMap(ProductID.init(rawValue:)) }
}
