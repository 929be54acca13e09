import Foundation
import HTTPCore
import Primitives
import StoreModel

/// A request that was let in: who sends it, and about which book.
struct Visit: Sendable {
    let request: HTTPRequest
    let caller: Caller
    let environment: StoreEnvironment
    fileprivate let report: @Sendable (HTTPRequest, any Error) -> Void

    var book: Book { Book(app: caller.app, environment: environment) }

    /// The customer a path names. Throws 400.
    func customer(_ path: PathParameters) throws -> CustomerKey {
        guard let customer = CustomerID(rawValue: path["customer"]) else {
            throw Refusal.invalid("customer", "should have \(CustomerID.rule)")
        }
        return CustomerKey(book: book, customer: customer)
    }

    /// An answer that has to be waited for; what `work` throws becomes a refusal.
    func later(_ work: @escaping @Sendable () async throws -> HTTPResponse) -> HTTPReply {
        .suspended { [request, report] in
            do {
                return try await work()
            } catch {
                if !(error is Refusal) { report(request, error) }
                return Refusal.failure(error).response
            }
        }
    }
}

/// Lets requests in by their key, and finds out which environment they ask about.
struct Gate: Sendable {
    static let requestID = "Souk-Request-Id"
    private static let environmentHeader = "Souk-Environment"

    let keys: KeyRing
    let apps: Set<BundleID>
    /// The first answers requests that name none.
    let environments: [StoreEnvironment]
    let report: @Sendable (HTTPRequest, any Error) -> Void

    /// Where a key may stand in a request.
    enum Credential {
        /// `Authorization: Bearer`.
        case bearer
        /// `x-api-key`, or else `Authorization: Bearer`.
        case apiKeyOrBearer
    }

    /// Calls `visit` for a request with a key of at least the rights of `kind`; refuses others.
    func admit(
        _ request: HTTPRequest, needing kind: KeyKind = .public, by credential: Credential = .bearer,
        _ visit: (Visit) throws -> HTTPReply
    ) -> HTTPReply {
        // Refusals name the environment too, those of the key as well, unless it is what is refused.
        let environment = Result { try self.environment(of: request) }
        let reply: HTTPReply
        do {
            let caller = try caller(of: request, by: credential)
            guard apps.contains(caller.app) else { throw Refusal.appNotServed }
            if kind == .secret, caller.kind != .secret { throw Refusal.secretKeyRequired }
            reply = try visit(
                Visit(request: request, caller: caller, environment: try environment.get(), report: report))
        } catch {
            if !(error is Refusal) { report(request, error) }
            reply = .ready(Refusal.failure(error).response)
        }
        guard let known = try? environment.get() else { return reply }
        return reply.map { response in
            var response = response
            response.headers.add(Self.environmentHeader, known.rawValue)
            return response
        }
    }

    private func caller(of request: HTTPRequest, by credential: Credential) throws -> Caller {
        let apiKey = credential == .apiKeyOrBearer ? request.headers["x-api-key"] : nil
        guard let key = try apiKey ?? Self.bearer(request.headers["Authorization"]) else { throw Refusal.missingKey }
        guard let caller = try keys.caller(presenting: key) else { throw Refusal.unknownKey }
        return caller
    }

    /// The token of `Bearer <token>` (RFC 6750 section 2.1); the scheme in any case.
    private static func bearer(_ header: String?) throws -> String? {
        guard let header else { return nil }
        let scheme = "bearer ".utf8
        let token = header.utf8.dropFirst(scheme.count)
        // The bit that tells the cases of an ASCII letter apart is set in a space anyway.
        guard header.utf8.prefix(scheme.count).elementsEqual(scheme, by: { $0 | 0x20 == $1 }), !token.isEmpty,
            !token.contains(UInt8(ascii: " "))
        else { throw Refusal.malformed("Authorization should be \"Bearer <key>\".", field: "Authorization") }
        return String(Substring(token))
    }

    private func environment(of request: HTTPRequest) throws -> StoreEnvironment {
        guard let named = request.headers[Self.environmentHeader] else { return environments[0] }
        if let environment = environments.first(where: { $0.rawValue == named }) { return environment }
        let accepted = environments.map(\.rawValue).joined(separator: " or ")
        throw Refusal.invalid(Self.environmentHeader, "should be \(accepted), the environments of this server")
    }
}
