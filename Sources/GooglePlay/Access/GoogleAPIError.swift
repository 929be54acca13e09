import HTTPCore
import Primitives

/// An error response of a Google API.
///
///     GoogleAPIError(.notFound, reason: "purchaseTokenNotFound", "The purchase token was not found.").response
package struct GoogleAPIError: Error, Sendable, Hashable {
    package var httpStatus: Int
    /// The canonical name of the error, such as `INVALID_ARGUMENT`.
    package var status: Status
    /// The reason of the first detail, such as `purchaseTokenNoLongerValid`.
    package var reason: String
    package var message: String
    /// The parameter with the error.
    package var location: String?

    package init(_ status: Status, reason: String, _ message: String, location: String? = nil) {
        httpStatus = Self.httpStatuses[status] ?? 500
        self.status = status
        self.reason = reason
        self.message = message
        self.location = location
    }

    /// Reads an error response; `nil` if the body does not have the form of one.
    package init?(_ json: JSONValue) {
        guard let error = json["error"], let code = error["code"]?.intValue else { return nil }
        httpStatus = code
        status = Status(rawValue: error["status"]?.stringValue ?? "")
        message = error["message"]?.stringValue ?? ""
        reason = error["errors"]?[0]?["reason"]?.stringValue ?? ""
        location = error["errors"]?[0]?["location"]?.stringValue
    }

    package var json: JSONValue {
        var detail: JSONMembers = [
            "message": .string(message), "domain": "androidpublisher", "reason": .string(reason),
        ]
        if let location {
            detail["location"] = .string(location)
            detail["locationType"] = "parameter"
        }
        return [
            "error": [
                "code": .number(httpStatus), "message": .string(message), "errors": [.object(detail)],
                "status": .string(status.rawValue),
            ]
        ]
    }

    package var response: HTTPResponse {
        HTTPResponse(
            status: httpStatus,
            headers: httpStatus == 401 ? ["WWW-Authenticate": "Bearer realm=\"https://accounts.google.com/\""] : [:],
            json: json)
    }

    package typealias Status = OpenEnum<GoogleAPIError>

    private static let httpStatuses: [Status: Int] = [
        .invalidArgument: 400, .failedPrecondition: 400, .unauthenticated: 401, .permissionDenied: 403,
        .notFound: 404, .aborted: 409, .gone: 410, .payloadTooLarge: 413, .resourceExhausted: 429,
        .unimplemented: 501, .unavailable: 503,
    ]
}

extension GoogleAPIError.Status {
    package static var invalidArgument: Self { Self(rawValue: "INVALID_ARGUMENT") }
    package static var failedPrecondition: Self { Self(rawValue: "FAILED_PRECONDITION") }
    package static var unauthenticated: Self { Self(rawValue: "UNAUTHENTICATED") }
    package static var permissionDenied: Self { Self(rawValue: "PERMISSION_DENIED") }
    package static var notFound: Self { Self(rawValue: "NOT_FOUND") }
    package static var aborted: Self { Self(rawValue: "ABORTED") }
    /// The purchase token is no longer valid (410).
    package static var gone: Self { Self(rawValue: "GONE") }
    package static var payloadTooLarge: Self { Self(rawValue: "PAYLOAD_TOO_LARGE") }
    package static var resourceExhausted: Self { Self(rawValue: "RESOURCE_EXHAUSTED") }
    package static var unimplemented: Self { Self(rawValue: "UNIMPLEMENTED") }
    package static var unavailable: Self { Self(rawValue: "UNAVAILABLE") }
    package static var internalError: Self { Self(rawValue: "INTERNAL") }
}
