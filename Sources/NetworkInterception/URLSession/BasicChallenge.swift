import Foundation
import HTTPCore

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// An answer 401 that asks for a name and a password (RFC 7617), for the delegate of a session on Linux. URLSession asks
/// for a protocol there as well, but waits for ever where the delegate has nothing to give, and takes no second answer.
struct BasicChallenge {
    enum Verdict: Sendable {
        /// The value of `Authorization` to ask anew with.
        case authorization(String)
        /// Nobody has a credential: the answer is the last.
        case none
        case cancelled
    }

    private let challenge: Unchecked<URLAuthenticationChallenge>

    /// `nil` when `response` to a request of `url` asks nothing of the kind. `refusals` is how many credentials were
    /// refused before.
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
                    failureResponse: head, error: nil, sender: NobodysSender()))
        #endif
    }

    /// Asks the task's delegate, or else its session's, on the queue of delegates. To be called where URLSession may be
    /// told. `answer` is called as often as the delegate answers.
    func ask(_ task: URLSessionTask?, _ answer: @escaping @Sendable (Verdict) -> Void) {
        guard let task, let session = Surroundings.session(of: task),
            let delegate = (task.delegate ?? session.delegate) as? any URLSessionTaskDelegate
        else { return answer(.none) }
        let asked = Unchecked((session, task, delegate))
        session.delegateQueue.addOperation { [challenge] in
            let (session, task, delegate) = asked.value
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
                // Objective-C's delegates may lack the method.
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

    /// The parameter of that name, a quoted text or a word.
    private static func realm(in value: String) -> String? {
        guard let match = value.firstMatch(of: #/(?i)[\s,]realm\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))/#) else {
            return nil
        }
        if let word = match.2 { return String(word) }
        return match.1.map { String($0).replacing(#/\\(.)/#) { escape in escape.1 } }
    }
}

#if !canImport(Darwin)
    /// A session's delegate answers by its completion handler; Foundation's own sender would end the process.
    private final class NobodysSender: NSObject, URLAuthenticationChallengeSender {
        func use(_ credential: URLCredential, for challenge: URLAuthenticationChallenge) {}
        func continueWithoutCredential(for challenge: URLAuthenticationChallenge) {}
        func cancel(_ challenge: URLAuthenticationChallenge) {}
        func performDefaultHandling(for challenge: URLAuthenticationChallenge) {}
        func rejectProtectionSpaceAndContinue(with challenge: URLAuthenticationChallenge) {}
    }
#endif
