import Foundation
import HTTPCore
import WebPages

extension Console {
    /// The routes that sign in and sign out. A sign-out deletes only the cookie.
    var signInRoutes: [ConsoleRoute] {
        [
            ConsoleRoute(
                .get, "/", "consoleSearch", .open { _ in Self.redirect(to: ConsoleRoute.root) }),
            ConsoleRoute(
                .get, "/sign-in", "consoleSignInPage",
                .open { fields in Self.response(SignInPage(next: fields["next"], refusal: nil).page) }),
            ConsoleRoute(.post, "/sign-in", "consoleSignIn", .open(signIn)),
            ConsoleRoute(.post, "/sign-out", "consoleSignOut", .signedIn(.readOnly, signOut)),
        ]
    }

    /// Exchanges a secret key for a session. The key is only in the body of this request.
    @Sendable private func signIn(_ fields: HTTPQuery) async throws -> HTTPResponse {
        guard let role = fields["role"].flatMap({ ConsoleSession.Role(rawValue: $0) }) else {
            throw ConsoleRefusal.invalid("role", "should be readOnly or full")
        }
        let key = (fields["key"] ?? "").trimmingCharacters(in: .whitespacesAndNewlines)
        do {
            try attempts.begin()
            guard let session = try sessions.open(with: key, as: role) else { throw ConsoleRefusal.unknownKey }
            attempts.succeed()
            let caller = session.caller
            try await ledger.record(
                AuditNote(
                    action: .signIn, keyID: APIKeys.id(of: caller.keyDigest), role: session.role, now: realClock.now()),
                of: caller.app)
            var response = Self.redirect(to: SignInPage.destination(fields["next"]))
            response.headers.add("Set-Cookie", try cookie(of: session))
            return response
        } catch let refusal as ConsoleRefusal {
            var response = Self.response(
                SignInPage(next: fields["next"], refusal: refusal).page, status: refusal.status)
            if let seconds = refusal.retryAfter { response.headers.add("Retry-After", String(seconds)) }
            return response
        }
    }

    @Sendable private func signOut(_ request: ConsoleRequest) async throws -> HTTPResponse {
        var response = Self.redirect(to: SignInPage.path(returningTo: nil))
        response.headers.add("Set-Cookie", access.cookie("", seconds: 0))
        return response
    }
}
