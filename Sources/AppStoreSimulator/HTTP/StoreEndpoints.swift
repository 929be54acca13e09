import Foundation
import HTTPCore
import Primitives
import StoreKitAdapter
import StoreModel

/// The function behind an endpoint of the store.
struct StoreHandler: Sendable {
    /// Whether the endpoint can answer with a `StoreFailure` that no setting injects.
    let canReturnStoreFailure: Bool
    let bodyLimit: Int
    let respond: @Sendable (StoreCall) async throws -> any Encodable & Sendable
}

/// The table of all endpoints. The routes, the OpenAPI document, the actions of scenarios, and tests are made
/// from it, and `Documentation/Reference/SimulatorHTTP.md` is compared with it.
enum StoreEndpoints {
    /// The endpoints in the order of the documents.
    static let all: [Endpoint<StoreHandler>] =
        device + clock + accounts + families + devices + catalogue + purchases + subscriptions + seats + transactions
        + offers + notifications + retentionMessages + googlePlay + state + documents

    /// The path parameters: a description of each, and the error for an unknown value.
    static let pathParameters: [String: (summary: String, refusal: SimulatorError.Code?)] = [
        "account": ("the name of an account", .unknownAccount),
        "device": ("the id of a device, from signIn", .unknownDevice),
        "transaction": ("the number of a transaction or of a pending order", .unknownTransaction),
        "family": ("the name of a family", .unknownFamily),
        "member": ("the name of an account", .unknownAccount),
        "product": ("a product of the catalogue", .unknownProduct),
        "notification": ("the UUID of a notification", .unknownNotification),
        "setting": ("the name of a setting, see Documentation/Formats.md", .unknownSetting),
        "group": ("the id of a subscription group", nil),
        "batch": ("the number of a batch of offer codes", .unknownOfferCodes),
        "purchase": ("the token of a purchase on Google Play", .unknownPurchase),
        "number": ("the number of a notification of Google Play", .unknownNotification),
        "message": ("the id of a message", .unknownMessage),
    ]

    static let bodyLimit = 64 << 10

    /// Creates an endpoint without a body.
    static func endpoint<Answer: Encodable & Sendable & WireModel>(
        _ method: HTTPRequest.Method, _ path: String, _ id: String, _ summary: String,
        parameters: [OpenAPIDocument.Parameter] = [], status: Int = 200, refusals: [SimulatorError.Code] = [],
        canReturnStoreFailure: Bool = false, _ respond: @escaping @Sendable (StoreCall) async throws -> Answer
    ) -> Endpoint<StoreHandler> {
        Endpoint(
            method, path, id, summary, tag: tag(of: path), parameters: parameters, status: status,
            answer: .of(Answer.self), refusals: codes(refusals),
            handler: StoreHandler(canReturnStoreFailure: canReturnStoreFailure, bodyLimit: 0, respond: respond))
    }

    /// Creates an endpoint with a body.
    static func endpoint<
        RequestBody: Decodable & WireModel & SendableMetatype, Answer: Encodable & Sendable & WireModel
    >(
        _ method: HTTPRequest.Method, _ path: String, _ id: String, _ summary: String,
        parameters: [OpenAPIDocument.Parameter] = [], taking bodyType: RequestBody.Type, isOptional: Bool = false,
        limit: Int = bodyLimit, status: Int = 200, refusals: [SimulatorError.Code] = [],
        canReturnStoreFailure: Bool = false,
        _ respond: @escaping @Sendable (StoreCall, RequestBody) async throws -> Answer
    ) -> Endpoint<StoreHandler> {
        Endpoint(
            method, path, id, summary, tag: tag(of: path), parameters: parameters,
            body: .init(.of(bodyType), isOptional: isOptional), status: status, answer: .of(Answer.self),
            refusals: codes(refusals),
            handler: StoreHandler(canReturnStoreFailure: canReturnStoreFailure, bodyLimit: limit) { call in
                try await respond(call, try WireJSON.decode(bodyType, from: call.body))
            })
    }

    private static func tag(of path: String) -> OpenAPIDocument.Tag {
        path.hasPrefix("/store/") ? .store : path.hasPrefix("/control/") ? .control : .documents
    }

    private static func codes(_ refusals: [SimulatorError.Code]) -> [Int: [String]] {
        Dictionary(grouping: refusals, by: Refusal.status).mapValues { $0.map(\.rawValue) }
    }
}

/// A parsed request.
struct StoreCall: Sendable {
    let store: SimulatedAppStore
    let path: PathParameters
    let query: HTTPQuery
    /// The body, which fits the endpoint's schema; `{}` if the request has none.
    let body: JSONValue

    /// Parses a request. Throws for a request that the endpoint's schemas do not allow.
    init(_ request: HTTPRequest, _ path: PathParameters, of endpoint: Endpoint<StoreHandler>, store: SimulatedAppStore)
        async throws
    {
        self.store = store
        self.path = path
        guard let query = request.query else {
            throw SimulatorError(.malformed, "An escape in the query is incomplete or is not UTF-8.")
        }
        self.query = query
        for parameter in endpoint.query {
            let values = query.values(parameter.name)
            guard values.count <= 1 || parameter.repeats else {
                throw WireSchema.Violation(path: [parameter.name], rule: "given only once")
            }
            for value in values {
                if let violation = parameter.schema.violation(Self.json(value, like: parameter.schema)) {
                    throw violation.below(parameter.name)
                }
            }
        }
        guard let wanted = endpoint.body else {
            body = [:]
            return
        }
        let bytes = try await request.body.collect(upTo: endpoint.handler.bodyLimit)
        body = bytes.isEmpty && wanted.isOptional ? [:] : try JSONValue(parsing: bytes)
        if let violation = wanted.schema.violation(body) { throw violation }
    }

    /// The JSON form of a query parameter: a number if the schema has a number.
    private static func json(_ text: String, like schema: WireSchema) -> JSONValue {
        guard ["integer", "number"].contains(schema.json["type"]?.stringValue) else { return .string(text) }
        return JSONNumber(text: text).map { .number($0) } ?? .string(text)
    }

    // MARK: - Path parameters

    var account: AccountName { get throws { try name("account") } }
    var member: AccountName { get throws { try name("member") } }
    var family: FamilyName { get throws { try name("family") } }
    var product: ProductID { get throws { try name("product") } }
    var transaction: TransactionID { get throws { try name("transaction") } }
    var device: DeviceID { get throws { try name("device") } }

    /// The id of a subscription group, which has the form of a name.
    var group: String { get throws { (try name("group") as AccountName).rawValue } }

    private func name<ID: Identifier>(_ parameter: String) throws -> ID {
        guard let id = ID(rawValue: path[parameter]) else {
            throw SimulatorError(.malformed, "The \(parameter) in the path should have \(ID.rule).")
        }
        return id
    }

    // MARK: - Query parameters

    func integer(_ name: String) -> Int64? { query[name].flatMap { Int64($0) } }

    /// The value of a number parameter; 0 if it is absent.
    func seconds(_ name: String) -> Double { query[name].flatMap { JSONNumber(text: $0)?.double } ?? 0 }

    func identifier<ID: Identifier>(_ name: String) -> ID? { query[name].flatMap(ID.init(rawValue:)) }

    var productIDs: [ProductID] { query.values("id").compactMap(ProductID.init(rawValue:)) }
}
