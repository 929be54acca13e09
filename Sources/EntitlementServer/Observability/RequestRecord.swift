import Foundation
import Primitives
import StoreModel

/// The log record of one request. It never contains a key, a token, a customer or a body.
public struct RequestRecord: Sendable {
    /// The time of the response, in real time.
    public var answeredAt: Date
    /// The id of the request, which its sender finds in `Souk-Request-Id`.
    public var requestID: String
    /// The id of the endpoint in the OpenAPI document, or of the console's page or action, such as `consoleSearch`;
    /// `none` for an unknown path.
    public var endpoint: String
    /// The HTTP status of the response.
    public var status: Int
    /// The time from the arrival of the request to its response.
    public var duration: Duration
    /// The app of the request's key; `nil` without a valid key.
    public var app: BundleID?
    /// The id of the request's key, as `souk keys list` prints it; `nil` without a valid key.
    public var keyID: String?
    /// The code of the problem in the response; `nil` if the response is no problem.
    public var code: String?
    /// The name of the retention rule that gave the response; `nil` for a response without a rule.
    public var rule: String?
    /// The trace id (32 digits) of the request's `traceparent`; `nil` without a valid one.
    public var traceID: String?

    /// The record as a JSON object for one line of a log.
    public var json: JSONValue {
        var line: JSONValue = [
            "time": .string(RFC3339.string(from: answeredAt)),
            "level": .string(status >= 500 ? "error" : status >= 400 ? "warning" : "info"),
            "requestID": .string(requestID), "endpoint": .string(endpoint), "status": .number(status),
            "milliseconds": .number(Int((duration / .milliseconds(1)).rounded())),
        ]
        if let app { line["app"] = .string(app.rawValue) }
        if let keyID { line["keyID"] = .string(keyID) }
        if let code { line["code"] = .string(code) }
        if let rule { line["rule"] = .string(rule) }
        if let traceID { line["traceID"] = .string(traceID) }
        return line
    }
}
