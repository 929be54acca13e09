import HTTPCore
import Primitives

/// The clients that may use an `InspectorPage`.
///
/// Another site can link to the inspector's page, but cannot use its API or change anything: each change requires a
/// header or a secret that only the inspector's page can send.
package struct InspectorAccess: Sendable {
    private enum Kind { case loopback, token(digest: [UInt8]) }

    private let kind: Kind

    /// Clients that use the host `localhost`, `127.0.0.1` or `::1`, for a listener on a loopback address. Other names
    /// that resolve to this machine (DNS rebinding) are refused.
    package static let loopback = InspectorAccess(kind: .loopback)

    /// Clients that have `token`, under any host name. Use it for a listener that other machines can reach. A client
    /// sends it once as `?token=` to the page, which stores it in a cookie, or with each request as `Authorization:
    /// Bearer`. Plain http does not protect the token.
    package static func token(_ token: String) -> InspectorAccess {
        InspectorAccess(kind: .token(digest: Array(SHA256.hash(token.utf8))))
    }
}

extension InspectorAccess {
    /// The header that the page's script sends with each change.
    static let header = "X-Souk-Inspector"
    private static let cookie = "souk_inspector"
    private static let localGate = LocalRequestGate()

    /// The response to a request that is refused, or the redirect that stores a token in a cookie; `nil` if the request
    /// is permitted.
    func refusal(of request: HTTPRequest, at path: String) -> HTTPResponse? {
        switch kind {
        case .loopback:
            if let problem = Self.localGate.refusalOfHost(request) { return problem.response }
        case .token(let digest):
            if let refusal = refusal(of: request, at: path, tokenDigest: digest) { return refusal }
        }
        return Self.refusalOfForeignSite(request, at: path)
    }

    private func refusal(of request: HTTPRequest, at path: String, tokenDigest digest: [UInt8]) -> HTTPResponse? {
        // Comparing digests makes the duration of the comparison useless to an attacker.
        func matches(_ text: String) -> Bool { Array(SHA256.hash(text.utf8)) == digest }
        if let bearer = request.headers["Authorization"], bearer.lowercased().hasPrefix("bearer "),
            matches(String(bearer.dropFirst(7)))
        {
            return nil
        }
        let cookies = request.headers.values("Cookie").flatMap { $0.split(separator: ";") }
        let known = cookies.contains { pair in
            let halves = pair.drop { $0 == " " }.split(separator: "=", maxSplits: 1)
            return halves.count == 2 && halves[0] == Self.cookie && matches(String(halves[1]))
        }
        if known { return nil }
        if request.method == .get, let token = request.query?["token"], matches(token),
            token.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: ";") })
        {
            return HTTPResponse(
                status: 303,
                headers: [
                    "Location": path + "/", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
                    "Set-Cookie": "\(Self.cookie)=\(token); Path=\(path)/; HttpOnly; SameSite=Lax",
                ])
        }
        return HTTPProblem(
            status: 401, code: "token_required", title: "Token required",
            detail: "Open the address that was printed at the start of the inspector. It has the token."
        ).response
    }

    /// The response to a request of another site. A form of a floret's settings contains `InspectorPage.proof`, so only
    /// the API requires the header.
    private static func refusalOfForeignSite(_ request: HTTPRequest, at path: String) -> HTTPResponse? {
        let isAPI = request.path.hasPrefix(path + "/api/")
        let isReading = request.method == .get || request.method == .head
        if isReading && !isAPI { return nil }
        // Another site may link to the page, but not to its API, even where the browser hides the response.
        if isAPI, let site = request.headers["Sec-Fetch-Site"], site != "same-origin", site != "none" {
            return forbidden("foreign_site", "A page of another site may not read this.")
        }
        if let problem = LocalRequestGate.anyHost.refusal(of: request, isProven: !isAPI) { return problem.response }
        if !isReading, isAPI, !request.headers.contains(header) {
            return forbidden("header_required", "Changes require the header \(header).")
        }
        return nil
    }

    private static func forbidden(_ code: String, _ detail: String) -> HTTPResponse {
        HTTPProblem(status: 403, code: code, title: "Forbidden", detail: detail).response
    }
}
