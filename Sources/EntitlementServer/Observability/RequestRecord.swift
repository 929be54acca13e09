import Foundation
import Primitives
import StoreModel

/// What became of one request, to be logged: never a key, a token, a customer or anything that was sent in a body.
public struct RequestRecord: Sendable {
    /// Real time.
    public var answeredAt: Date
    /// As the sender knows it from `Souk-Request-Id`.
    public var requestID: String
    /// The endpoint's id in the OpenAPI document; `none` where nothing is at the path.
    public var endpoint: String
    public var status: Int
    public var duration: Duration
    /// Whose key was sent; `nil` where none was, or nobody's.
    public var app: BundleID?
    /// The code of the problem that was answered.
    public var code: String?
    /// The 32 digits of the sender's `traceparent`.
    public var traceID: String?

    /// One JSON object, to be written as one line.
    public var json: JSONValue {
        var line: JSONValue = [
            "time": .string(RFC3339.string(from: answeredAt)),
            "level": .string(status >= 500 ? "error" : status >= 400 ? "warning" : "info"),
            "requestID": .string(requestID), "endpoint": .string(endpoint), "status": .number(status),
            "milliseconds": .number(Int((duration / .milliseconds(1)).rounded())),
        ]
        if let app { line["app"] = .string(app.rawValue) }
        if let code { line["code"] = .string(code) }
        if let traceID { line["traceID"] = .string(traceID) }
        return line
    }
}
