import Foundation
import HTTPCore
import Primitives
import StoreModel

/// A request to an endpoint, with the parameters of its path.
struct Call: Sendable {
    /// The id of the request in the response's header, in logs and in reports.
    let id: String
    let request: HTTPRequest
    let path: PathParameters
    fileprivate let report: @Sendable (_ requestID: String, any Error) -> Void
    /// The name of the retention rule that gave the response, for the log. Only endpoints without a key can set it.
    let ruleName: Locked<String?>?
    /// The span of the request; `nil` if this server exports no traces.
    fileprivate let span: OpenSpan?

    /// Returns a reply that runs `work` later. An error becomes a refusal.
    func later(_ work: @escaping @Sendable () async throws -> HTTPResponse) -> HTTPReply {
        .suspended { [id, request, report, span] in
            do {
                guard let parent = span?.context ?? Traceparent(request.headers[Traceparent.field]) else {
                    return try await work()
                }
                let trace = CurrentTrace(parent: parent, tracer: span?.tracer)
                return try await CurrentTrace.$value.withValue(trace) { try await work() }
            } catch {
                return Self.refusal(error, id, report).response
            }
        }
    }

    fileprivate func refused(_ error: any Error) -> HTTPReply { .ready(Self.refusal(error, id, report).response) }

    /// Converts an error into a refusal. Reports failures of the server, but not mistakes of the sender.
    private static func refusal(
        _ error: any Error, _ id: String, _ report: (_ requestID: String, any Error) -> Void
    ) -> Refusal {
        let refusal = Refusal.failure(error)
        if !(error is Refusal), refusal.problem.status >= 500 { report(id, error) }
        return refusal
    }

    /// Checks the parameters of the path. Throws 400 if one has a control character.
    fileprivate func checkPath() throws {
        for (name, value) in path.all where !value.isPrintableASCII && value.unicodeScalars.contains(where: \.isControl)
        {
            throw Refusal.invalid(name, "should have no control characters")
        }
    }
}

/// An authenticated request, with its caller and the ledger that it concerns.
struct RequestContext: Sendable {
    let call: Call
    /// The authorization of the request. Long responses, such as event streams, check it again.
    let authorization: Authorization
    let environment: StoreEnvironment
    /// The only customer that the request may concern; `nil` for all.
    fileprivate let only: CustomerID?
    fileprivate let limiter: RateLimiter

    var caller: Caller { authorization.caller }
    /// The customer of the request's token.
    var requester: CustomerID? { authorization.token?.customer }
    var request: HTTPRequest { call.request }
    var path: PathParameters { call.path }
    var ledgerID: LedgerID { LedgerID(app: caller.app, environment: environment) }

    /// Returns the customer in the path. Throws 400 for an invalid id, 403 if the caller may not act for this customer,
    /// and 429 if a request with the public key exceeds the customer's rate limit.
    func customer() throws -> CustomerKey {
        guard let customer = CustomerID(rawValue: path["customer"]) else {
            throw Refusal.invalid("customer", "should have \(CustomerID.rule)")
        }
        return try key(of: customer)
    }

    /// Returns the key of a customer. With the public key, also counts the request against the customer's rate limit.
    /// Throws 403 if the caller may not act for this customer, and 429.
    func key(of customer: CustomerID) throws -> CustomerKey {
        guard mayAsk(about: customer) else { throw Refusal.anothersToken }
        if caller.kind == .public { try limiter.admit(customer, of: caller.app) }
        return CustomerKey(ledgerID: ledgerID, customer: customer)
    }

    /// With the public key, counts the request against the rate limit of its receipt, because a validation names no
    /// customer. Throws 429.
    func count(receipt: [UInt8]) throws {
        if caller.kind == .public { try limiter.admit(receipt: receipt, of: caller.app) }
    }

    /// Returns whether the caller may act for a customer.
    func mayAsk(about customer: CustomerID) -> Bool { only == nil || only == customer }

    /// Returns a reply that runs `work` later. An error becomes a refusal.
    func later(_ work: @escaping @Sendable () async throws -> HTTPResponse) -> HTTPReply { call.later(work) }
}

/// Authenticates requests by their API key and determines their environment.
struct Authenticator: Sendable {
    static let requestID = "Souk-Request-Id"
    static let environmentHeader = "Souk-Environment"
    static let customerToken = "Souk-Customer-Token"

    let keys: KeyRing
    let apps: Set<BundleID>
    /// The accepted environments. The first is used for requests that name none.
    let environments: [StoreEnvironment]
    let makeID: @Sendable () -> String
    let report: @Sendable (_ requestID: String, any Error) -> Void

    /// Apps whose public key is accepted only with a customer token.
    let guarded: Set<BundleID>
    let tokens: CustomerTokens
    let limiter: RateLimiter
    let signer: AnswerSigner
    let observer: RequestObserver

    /// Responds to a request to an endpoint, or refuses it.
    func respond(
        to endpoint: Endpoint<ServerHandler>, _ request: HTTPRequest, _ path: PathParameters,
        counting endpointMetrics: EndpointMetrics
    ) -> HTTPReply {
        let begun = observer.begin(request)
        let ruleName: Locked<String?>? = if case .open = endpoint.handler { Locked<String?>(nil) } else { nil }
        let call = Call(
            id: makeID(), request: request, path: path, report: report, ruleName: ruleName, span: begun.span)
        var caller: Caller?
        var environment: StoreEnvironment?
        let reply: HTTPReply
        switch endpoint.handler {
        case .open(let respond):
            do {
                try signer.check(request)
                try call.checkPath()
                reply = try respond(call)
            } catch {
                reply = call.refused(error)
            }
        case .authorized(let access, let credential, let respond):
            reply = admit(call, as: access, by: credential, &caller, &environment, respond)
        }
        // `map` would make a closure for each request and copy the headers: 4,100 of 35,500 instructions of a read.
        switch reply {
        case .ready(let response):
            return .ready(
                observed(response, to: call, of: caller, in: environment, since: begun, counting: endpointMetrics))
        case .suspended(let work):
            return .suspended { [caller, environment] in
                observed(
                    await work(), to: call, of: caller, in: environment, since: begun, counting: endpointMetrics)
            }
        }
    }

    /// Adds the environment and the id of the request to the response, and counts and logs it.
    private func observed(
        _ response: consuming HTTPResponse, to call: Call, of caller: Caller?, in environment: StoreEnvironment?,
        since begun: RequestObserver.Beginning, counting endpointMetrics: EndpointMetrics
    ) -> HTTPResponse {
        if let environment { response.headers.add(Self.environmentHeader, environment.rawValue) }
        response.headers.add(Self.requestID, call.id)
        observer.observe(
            response, to: call.request, as: call.id, of: caller, by: call.ruleName?.withLock(\.self), since: begun,
            counting: endpointMetrics)
        return response
    }

    /// Authenticates a request. Sets `found` for a valid key and `known` for a valid environment, even if the request
    /// is refused.
    private func admit(
        _ call: Call, as access: ServerHandler.Access, by credential: ServerHandler.Credential,
        _ found: inout Caller?, _ known: inout StoreEnvironment?, _ respond: (RequestContext) throws -> HTTPReply
    ) -> HTTPReply {
        let environment = Result { try self.environment(of: call.request) }
        known = try? environment.get()
        do {
            let caller = try caller(of: call.request, by: credential)
            found = caller
            guard apps.contains(caller.app) else { throw Refusal.appNotServed }
            try limiter.admit(caller)
            try signer.check(call.request)
            let token = try call.request.headers[Self.customerToken].map { try tokens.claims(of: $0, for: caller.app) }
            let only = try onlyCustomer(for: caller, with: token, as: access)
            try call.checkPath()
            let authorization = Authorization(caller: caller, token: token, keys: keys, tokens: tokens)
            return try respond(
                RequestContext(
                    call: call, authorization: authorization, environment: try environment.get(), only: only,
                    limiter: limiter))
        } catch {
            return call.refused(error)
        }
    }

    /// Returns the only customer that a caller may act for; `nil` for all. A secret key may act for all. A token
    /// restricts a public key even if the endpoint does not require a token. Throws 401 and 403.
    private func onlyCustomer(
        for caller: Caller, with token: CustomerTokens.Claims?, as access: ServerHandler.Access
    ) throws -> CustomerID? {
        if caller.kind == .secret { return nil }
        if access == .secretKey { throw Refusal.secretKeyRequired }
        guard token != nil || (access == .publicKey && !guarded.contains(caller.app)) else {
            throw Refusal.missingCustomerToken
        }
        return token?.customer
    }

    private func caller(of request: HTTPRequest, by credential: ServerHandler.Credential) throws -> Caller {
        let apiKey = credential == .apiKeyOrBearer ? request.headers["x-api-key"] : nil
        guard let key = try apiKey ?? Self.bearer(request.headers["Authorization"]) else { throw Refusal.missingKey }
        guard let caller = try keys.caller(presenting: key) else { throw Refusal.unknownKey }
        return caller
    }

    /// Returns the token of `Bearer <token>` (RFC 6750 section 2.1), with the scheme in any case.
    private static func bearer(_ header: String?) throws -> String? {
        guard var header else { return nil }
        let token = header.withUTF8 { bytes -> String? in
            let scheme = StaticString("bearer ")
            let token = UnsafeBufferPointer(rebasing: bytes.dropFirst(scheme.utf8CodeUnitCount))
            guard !token.isEmpty, !token.contains(UInt8(ascii: " ")),
                (0..<scheme.utf8CodeUnitCount).allSatisfy({ bytes[$0] | 0x20 == scheme.utf8Start[$0] })
            else { return nil }
            return String(decoding: token, as: UTF8.self)
        }
        guard let token else {
            throw Refusal.malformed("Authorization should be \"Bearer <key>\".", field: "Authorization")
        }
        return token
    }

    private func environment(of request: HTTPRequest) throws -> StoreEnvironment {
        guard let named = request.headers[Self.environmentHeader] else { return environments[0] }
        if let environment = environments.first(where: { $0 == StoreEnvironment(rawValue: named) }) {
            return environment
        }
        let accepted = environments.map(\.rawValue).joined(separator: " or ")
        throw Refusal.invalid(Self.environmentHeader, "should be \(accepted), the environments of this server")
    }
}
