import Foundation
import HTTPCore

/// The text form of an error, for a record that is read from a file or whose error contained secrets.
package struct RecordedFailure: Error, Hashable, Sendable {
    /// The type of the error, for example `URLError`.
    package let kind: String
    /// The code of the error as text. Empty if it has none.
    package let code: String
    /// A sentence about the error.
    package let reason: String

    package init(kind: String, code: String, reason: String) {
        self.kind = kind
        self.code = code
        self.reason = reason
    }

    /// Creates the text form of any error.
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

    /// All texts that an error contains.
    static func texts(of error: any Error) -> [String] {
        let failure = RecordedFailure(error)
        let underlying = (error as? HTTPError)?.underlying ?? (error as? InterceptionError)?.underlying
        let details = (error as NSError).userInfo.map { "\($0.key)=\($0.value)" }
        return [failure.reason, failure.code, String(reflecting: error)] + details + (underlying.map(texts) ?? [])
    }

    /// The typed error of HTTP or of this module if possible; otherwise this value.
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
