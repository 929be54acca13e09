import Foundation
import HTTPCore
import Primitives
import StoreModel

/// A request on its way to an endpoint, with what its path names.
struct Call: Sendable {
    /// Names the case in the answer's header, in logs and reports.
    let id: String
    let request: HTTPRequest
    let path: PathParameters
    fileprivate let report: @Sendable (_ requestID: String, any Error) -> Void

    /// An answer that has to be waited for; what `work` throws becomes a refusal.
    func later(_ work: @escaping @Sendable () async throws -> HTTPResponse) -> HTTPReply {
        .suspended { [id, request, report] in
            do {
                guard let trace = Traceparent(request.headers[Traceparent.field]) else { return try await work() }
                return try await Traceparent.$current.withValue(trace) { try await work() }
            } catch {
                if !(error is Refusal) { report(id, error) }
                return Refusal.failure(error).response
            }
        }
    }

    fileprivate func refused(_ error: any Error) -> HTTPReply {
        if !(error is Refusal) { report(id, error) }
        return .ready(Refusal.failure(error).response)
    }
}

/// A call that was let in: who makes it, and about which book.
struct Visit: Sendable {
    let call: Call
    let caller: Caller
    let environment: StoreEnvironment
    /// The one customer it may be about; `nil` for all of them.
    fileprivate let only: CustomerID?

    var request: HTTPRequest { call.request }
    var path: PathParameters { call.path }
    var book: Book { Book(app: caller.app, environment: environment) }

    /// The customer the path names. Throws 400, and 403 where the caller may ask about another one only.
    func customer() throws -> CustomerKey {
        guard let customer = CustomerID(rawValue: path["customer"]) else {
            throw Refusal.invalid("customer", "should have \(CustomerID.rule)")
        }
        return try key(of: customer)
    }

    /// A customer this call is about. Throws 403 where the caller may ask about another one only.
    func key(of customer: CustomerID) throws -> CustomerKey {
        if let only, only != customer { throw Refusal.anothersToken }
        return CustomerKey(book: book, customer: customer)
    }

    /// An answer that has to be waited for; what `work` throws becomes a refusal.
    func later(_ work: @escaping @Sendable () async throws -> HTTPResponse) -> HTTPReply { call.later(work) }
}

/// Lets requests in by their key, and finds out which environment they ask about.
struct Gate: Sendable {
    static let requestID = "Souk-Request-Id"
    static let environmentHeader = "Souk-Environment"
    static let customerToken = "Souk-Customer-Token"

    let keys: KeyRing
    let apps: Set<BundleID>
    /// The first answers requests that name none.
    let environments: [StoreEnvironment]
    let makeID: @Sendable () -> String
    let report: @Sendable (_ requestID: String, any Error) -> Void

    /// Apps whose public key alone lets nobody read or write a customer.
    let guarded: Set<BundleID>
    let tokens: CustomerTokens
    let limiter: RateLimiter
    let signer: AnswerSigner
    let observer: RequestObserver

    /// Answers a request to an endpoint, or refuses it.
    func respond(
        to endpoint: Endpoint, _ request: HTTPRequest, _ path: PathParameters, counting figures: EndpointFigures
    ) -> HTTPReply {
        let begun = observer.now()
        let call = Call(id: makeID(), request: request, path: path, report: report)
        var app: BundleID?
        var environment: StoreEnvironment?
        let reply: HTTPReply
        switch endpoint.action {
        case .open(let respond):
            do {
                try signer.check(request)
                reply = try respond(call)
            } catch {
                reply = call.refused(error)
            }
        case .admitted(let access, let credential, let respond):
            reply = admit(call, as: access, by: credential, &app, &environment, respond)
        }
        return reply.map { [observer, app, environment] response in
            var response = response
            if let environment { response.headers.add(Self.environmentHeader, environment.rawValue) }
            response.headers.add(Self.requestID, call.id)
            observer.observe(response, to: request, as: call.id, of: app, since: begun, counting: figures)
            return response
        }
    }

    /// Finds out whose key was sent and which environment is meant, also where that ends in a refusal.
    private func admit(
        _ call: Call, as access: Endpoint.Access, by credential: Endpoint.Credential, _ app: inout BundleID?,
        _ known: inout StoreEnvironment?, _ respond: (Visit) throws -> HTTPReply
    ) -> HTTPReply {
        // Refusals name the environment too, those of the key as well, unless it is what is refused.
        let environment = Result { try self.environment(of: call.request) }
        known = try? environment.get()
        do {
            let caller = try caller(of: call.request, by: credential)
            app = caller.app
            guard apps.contains(caller.app) else { throw Refusal.appNotServed }
            try limiter.admit(caller)
            try signer.check(call.request)
            let only = try customer(that: caller, mayAskAbout: call.request, as: access)
            return try respond(Visit(call: call, caller: caller, environment: try environment.get(), only: only))
        } catch {
            return call.refused(error)
        }
    }

    /// The one customer a caller may ask about, `nil` for all. Throws 401 and 403.
    private func customer(
        that caller: Caller, mayAskAbout request: HTTPRequest, as access: Endpoint.Access
    ) throws -> CustomerID? {
        if caller.kind == .secret { return nil }
        switch access {
        case .secretKey: throw Refusal.secretKeyRequired
        case .publicKey where !guarded.contains(caller.app): return nil
        case .publicKey, .customer:
            guard let token = request.headers[Self.customerToken] else { throw Refusal.missingCustomerToken }
            return try tokens.customer(presenting: token, of: caller.app)
        }
    }

    private func caller(of request: HTTPRequest, by credential: Endpoint.Credential) throws -> Caller {
        let apiKey = credential == .apiKeyOrBearer ? request.headers["x-api-key"] : nil
        guard let key = try apiKey ?? Self.bearer(request.headers["Authorization"]) else { throw Refusal.missingKey }
        guard let caller = try keys.caller(presenting: key) else { throw Refusal.unknownKey }
        return caller
    }

    /// The token of `Bearer <token>` (RFC 6750 section 2.1); the scheme in any case.
    private static func bearer(_ header: String?) throws -> String? {
        guard var header else { return nil }
        let token = header.withUTF8 { bytes -> String? in
            let scheme = StaticString("bearer ")
            let token = UnsafeBufferPointer(rebasing: bytes.dropFirst(scheme.utf8CodeUnitCount))
            // The bit that tells the cases of an ASCII letter apart is set in a space anyway.
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
