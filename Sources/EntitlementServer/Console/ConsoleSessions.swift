import Foundation
import Primitives
import SignedData
import StoreModel

/// The sessions of the console, as signed tokens that every server of the same ledger can verify. No server stores
/// them.
///
/// A token is `<base64url of JSON>.<base64url of HMAC-SHA256>`. It names the digest of the key that opened the session.
/// Each request looks this key up in the ledger, so a session ends when its key is revoked. The secrets are derived
/// from the app's secret of customer tokens (Documentation/Decisions/0014-console-sessions-are-signed.md).
struct ConsoleSessions: Sendable {
    private struct Secrets: Sendable {
        let session: HMACSHA256
        let form: HMACSHA256

        init(_ secret: [UInt8]) throws {
            let hmac = try HMACSHA256(key: secret)
            // Customer tokens sign base64url text. These texts have spaces, so no customer token has their codes.
            session = try HMACSHA256(key: hmac.code(for: Array("souk console session".utf8)))
            form = try HMACSHA256(key: hmac.code(for: Array("souk console form".utf8)))
        }
    }

    private static let longestToken = 1024

    private let secrets: [BundleID: Secrets]
    private let keys: KeyRing
    /// The clock of real time.
    private let clock: any WallClock
    private let randomBytes: @Sendable (Int) -> [UInt8]

    init(
        secrets: [BundleID: [UInt8]], keys: KeyRing, clock: any WallClock,
        randomBytes: @escaping @Sendable (Int) -> [UInt8]
    ) throws {
        self.secrets = try secrets.mapValues { try Secrets($0) }
        self.keys = keys
        self.clock = clock
        self.randomBytes = randomBytes
    }

    /// Opens a session for a secret key; `nil` if the key is unknown, revoked, public, or of an app that is not served.
    func open(with key: String, as role: ConsoleSession.Role) throws -> ConsoleSession? {
        guard let caller = try keys.caller(presenting: key), caller.kind == .secret, secrets[caller.app] != nil,
            // The key ring can have cached the key before it was revoked.
            try keys.admits(caller)
        else { return nil }
        let now = clock.now()
        return ConsoleSession(caller: caller, role: role, id: randomBytes(32), startedAt: now, usedAt: now)
    }

    /// Returns the token of a session.
    func token(of session: ConsoleSession) throws -> String {
        guard let secret = secrets[session.caller.app] else { throw Refusal.appNotServed }
        let claims: JSONValue = [
            "a": .string(session.caller.app.rawValue), "k": .string(Base64.encodeURL(session.caller.keyDigest)),
            "r": .string(session.role.rawValue), "i": .string(Base64.encodeURL(session.id)),
            "s": .number(session.startedAt.milliseconds), "u": .number(session.usedAt.milliseconds),
        ]
        let payload = Base64.encodeURL(claims.encoded())
        return payload + "." + Base64.encodeURL(secret.session.code(for: Array(payload.utf8)))
    }

    /// Returns the session of a token; `nil` if the token is not genuine or has expired, or its key was revoked. Reads
    /// the ledger.
    func session(of token: String) throws -> ConsoleSession? {
        guard let session = genuineSession(of: token), try isValid(session) else { return nil }
        return session
    }

    /// Returns whether a session of this console has not expired and its key was not revoked. Reads the ledger.
    func isValid(_ session: ConsoleSession) throws -> Bool {
        try session.isCurrent(at: clock.now()) && keys.admits(session.caller)
    }

    /// Returns the session of a token whose signature is valid.
    private func genuineSession(of token: String) -> ConsoleSession? {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard token.utf8.count <= Self.longestToken, parts.count == 2,
            let bytes = Base64.decodeURL(String(parts[0])), let claims = try? JSONValue(parsing: bytes),
            let app = claims["a"]?.stringValue.flatMap({ BundleID(rawValue: $0) }), let secret = secrets[app],
            let code = Base64.decodeURL(String(parts[1])), secret.session.isValid(code, for: Array(parts[0].utf8)),
            let digest = claims["k"]?.stringValue.flatMap({ Base64.decodeURL($0) }), digest.count == 32,
            let role = claims["r"]?.stringValue.flatMap({ ConsoleSession.Role(rawValue: $0) }),
            let id = claims["i"]?.stringValue.flatMap({ Base64.decodeURL($0) }), id.count == 32,
            let startedAt = claims["s"]?.intValue, let usedAt = claims["u"]?.intValue
        else { return nil }
        return ConsoleSession(
            caller: Caller(app: app, kind: .secret, keyDigest: digest), role: role, id: id,
            startedAt: Date(milliseconds: Int64(startedAt)), usedAt: Date(milliseconds: Int64(usedAt)))
    }

    /// Returns the session for a new token; `nil` while the present token is younger than the renewal interval.
    func renewed(_ session: ConsoleSession) -> ConsoleSession? {
        let now = clock.now()
        guard now >= session.usedAt.addingTimeInterval(ConsoleSession.renewalInterval) else { return nil }
        var session = session
        session.usedAt = now
        return session
    }

    /// The number of whole seconds until a session ends without a further request.
    func secondsLeft(of session: ConsoleSession) -> Int {
        Int(max(0, min(session.end.timeIntervalSince(clock.now()), ConsoleSession.lifetime)))
    }

    // MARK: - Forms

    /// Returns the token that each form of a session contains. Pages of other sites cannot know it.
    func formToken(of session: ConsoleSession) -> String {
        guard let secret = secrets[session.caller.app] else { return "" }
        return Base64.encodeURL(secret.form.code(for: session.id))
    }

    /// Returns whether a text is the token of the session's forms. Compares in constant time.
    func isFormToken(_ text: String, of session: ConsoleSession) -> Bool {
        guard text.utf8.count <= Self.longestToken, let secret = secrets[session.caller.app],
            let code = Base64.decodeURL(text)
        else { return false }
        return secret.form.isValid(code, for: session.id)
    }
}
