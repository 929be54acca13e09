import Foundation
import HTTPCore

/// Why a request failed, in words: what stands in a record for an error that cannot be kept itself, because it was read
/// from a file, or because its texts had secrets.
package struct RecordedFailure: Error, Hashable, Sendable {
    /// The error's type, for example `URLError`.
    package let kind: String
    /// The error's own code, in its own words; empty when it has none.
    package let code: String
    /// A sentence that says what happened.
    package let reason: String

    package init(kind: String, code: String, reason: String) {
        self.kind = kind
        self.code = code
        self.reason = reason
    }

    /// What is told of any error.
    package init(_ error: any Error) {
        switch error {
        case let error as RecordedFailure: self = error
        case let error as HTTPError: self.init(kind: "HTTPError", code: error.code.rawValue, reason: error.reason)
        case let error as InterceptionError:
            self.init(kind: "InterceptionError", code: error.code.rawValue, reason: error.reason)
        default:
            let own = (error as? any LocalizedError)?.errorDescription
            self.init(
                kind: String(describing: type(of: error)), code: String((error as NSError).code),
                reason: own ?? String(describing: error))
        }
    }

    /// Everything in words that an error carries with it.
    static func texts(of error: any Error) -> [String] {
        let failure = RecordedFailure(error)
        let underlying = (error as? HTTPError)?.underlying ?? (error as? InterceptionError)?.underlying
        let details = (error as NSError).userInfo.map { "\($0.key)=\($0.value)" }
        return [failure.reason, failure.code, String(reflecting: error)] + details + (underlying.map(texts) ?? [])
    }

    /// The error that code can tell apart: one of HTTP or of this module again, otherwise this.
    var restored: any Error {
        switch kind {
        case "HTTPError": HTTPError(.init(rawValue: code), reason)
        case "InterceptionError": InterceptionError(.init(rawValue: code), reason)
        default: self
        }
    }
}

extension RecordedFailure: CustomStringConvertible, LocalizedError {
    package var description: String { reason }
    package var errorDescription: String? { reason }
}
