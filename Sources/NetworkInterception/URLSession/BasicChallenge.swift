import Foundation
import HTTPCore

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A 401 response that requests a user name and a password (RFC 7617), for the delegate of a session on Linux. A
/// URLProtocol can also pass a challenge to URLSession there. But URLSession then waits forever if the delegate has no
/// credential, and accepts no second credential.
struct BasicChallenge {
    enum Verdict: Sendable {
        /// The value of `Authorization` for the next request.
        case authorization(String)
        /// No credential is available, so the response is final.
        case none
        case cancelled
    }

    private let challenge: Unchecked<URLAuthenticationChallenge>

    /// Creates a challenge. `nil` on Apple platforms, or if `response` has no Basic challenge.
    ///
    /// - Parameter refusals: The number of credentials that were already refused.
    init?(_ response: HTTPResponse, from url: String, refusals: Int) {
        #if canImport(Darwin)
            return nil
        #else
            guard response.status == 401, let url = URL(string: url), let host = url.host, let scheme = url.scheme,
                let value = response.headers.values("WWW-Authenticate").first(where: Self.isBasic),
                let head = HTTPURLResponse(
                    url: url, statusCode: 401, httpVersion: "HTTP/1.1", headerFields: response.headers.joined)
            else { return nil }
            let space = URLProtectionSpace(
                host: host, port: url.port ?? (scheme.lowercased() == "https" ? 443 : 80),
                protocol: scheme.lowercased(), realm: Self.realm(in: value),
                authenticationMethod: NSURLAuthenticationMethodHTTPBasic)
            challenge = Unchecked(
                URLAuthenticationChallenge(
                    protectionSpace: space, proposedCredential: nil, previousFailureCount: refusals,
                    failureResponse: head, error: nil, sender: InertChallengeSender()))
        #endif
    }

    /// Passes the challenge to the delegate of the task or of its session, on the delegate queue. Call it on the queue
    /// on which the protocol client may be called. `answer` runs each time the delegate calls its completion handler. A
    /// delegate in Objective-C may lack the method, which counts as default handling.
    func ask(_ task: URLSessionTask?, _ answer: @escaping @Sendable (Verdict) -> Void) {
        guard let task, let session = TaskContext.session(of: task),
            let delegate = (task.delegate ?? session.delegate) as? any URLSessionTaskDelegate
        else { return answer(.none) }
        let parties = Unchecked((session, task, delegate))
        session.delegateQueue.addOperation { [challenge] in
            let (session, task, delegate) = parties.value
            let done: @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void = {
                disposition, credential in
                switch disposition {
                case .useCredential: answer(credential.map(Self.verdict) ?? .none)
                case .performDefaultHandling: answer(.none)
                default: answer(.cancelled)
                }
            }
            #if canImport(FoundationNetworking)
                delegate.urlSession(session, task: task, didReceive: challenge.value, completionHandler: done)
            #else
                let method: Void? = delegate.urlSession?(
                    session, task: task, didReceive: challenge.value, completionHandler: done)
                if method == nil { done(.performDefaultHandling, nil) }
            #endif
        }
    }

    private static func verdict(_ credential: URLCredential) -> Verdict {
        let pair = "\(credential.user ?? ""):\(credential.password ?? "")"
        return .authorization("Basic \(Data(pair.utf8).base64EncodedString())")
    }

    private static func isBasic(_ value: String) -> Bool {
        value.prefix { $0 != " " && $0 != "," }.lowercased() == "basic"
    }

    /// The parameter `realm`, a quoted string or a token.
    private static func realm(in value: String) -> String? {
        guard let match = value.firstMatch(of: #/(?i)[\s,]realm\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))/#) else {
            return nil
        }
        if let word = match.2 { return String(word) }
        return match.1.map { String($0).replacing(#/\\(.)/#) { escape in escape.1 } }
    }
}

#if !canImport(Darwin)
    /// A sender without effect. The delegate answers through its completion handler, and Foundation's own sender would
    /// end the process.
    private final class InertChallengeSender: NSObject, URLAuthenticationChallengeSender {
        func use(_ credential: URLCredential, for challenge: URLAuthenticationChallenge) {}
        func continueWithoutCredential(for challenge: URLAuthenticationChallenge) {}
        func cancel(_ challenge: URLAuthenticationChallenge) {}
        func performDefaultHandling(for challenge: URLAuthenticationChallenge) {}
        func rejectProtectionSpaceAndContinue(with challenge: URLAuthenticationChallenge) {}
    }
#endif
