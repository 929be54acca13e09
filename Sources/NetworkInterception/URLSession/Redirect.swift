import Foundation
import HTTPCore

extension HTTPRequest {
    /// The greatest number of redirects that are followed for one request.
    static let maximumRedirects = 20

    /// Returns the request that follows the redirect in `response` (RFC 9110 section 15.4), or `nil` if there is none.
    ///
    /// The new request is a GET without a body after 303, and for POST after 301 and 302. A HEAD remains a HEAD.
    /// `Authorization`, `Proxy-Authorization` and `Cookie` are not sent to another origin. The body is that of this
    /// request, so a caller with a stream must supply it again.
    func redirected(by response: HTTPResponse) -> HTTPRequest? {
        guard [301, 302, 303, 307, 308].contains(response.status), let location = response.headers["Location"],
            let base = URL(string: url), let target = URL(string: location, relativeTo: base)?.absoluteURL,
            let scheme = target.scheme?.lowercased(), ["http", "https"].contains(scheme), target.host?.isEmpty == false
        else { return nil }
        var next = self
        next.url = target.absoluteString
        next.headers["Host"] = nil
        let becomesGet =
            response.status == 303
            ? method != .get && method != .head : response.status < 303 && method == .post
        if becomesGet {
            next.method = .get
            next.body = .empty
            for name in ["Content-Length", "Content-Type", "Content-Encoding", "Content-Language", "Transfer-Encoding"]
            {
                next.headers[name] = nil
            }
        }
        if !base.isSameOrigin(as: target) {
            for name in ["Authorization", "Proxy-Authorization", "Cookie"] { next.headers[name] = nil }
        }
        return next
    }
}

extension URL {
    fileprivate func isSameOrigin(as other: URL) -> Bool {
        let (one, two) = (scheme?.lowercased(), other.scheme?.lowercased())
        func effectivePort(_ url: URL) -> Int { url.port ?? (url.scheme?.lowercased() == "https" ? 443 : 80) }
        return one == two && host?.lowercased() == other.host?.lowercased()
            && effectivePort(self) == effectivePort(other)
    }
}
