import GooglePlay
import Primitives

/// The settings for the Google Play Developer API.
struct PlayRules: Sendable, Hashable {
    /// The error of every response to an authenticated request.
    var failure: GoogleAPIError?
    /// The delay of each response to an authenticated request, in seconds of real time.
    var delay = 0.0

    /// The number of authenticated requests in a day of virtual time; later ones get the error 429. `nil` means no limit.
    var dailyQuota: Int?

    static let quotaExceeded = GoogleAPIError(
        .resourceExhausted, reason: "rateLimitExceeded", "The quota of requests is used up; try again later.")

    /// The errors that can be injected, by their HTTP status.
    static let failures: [Int: GoogleAPIError] = [
        403: GoogleAPIError(
            .permissionDenied, reason: "permissionDenied",
            "The current user has insufficient permissions to perform the requested operation."),
        429: quotaExceeded,
        500: GoogleAPIError(.internalError, reason: "backendError", "An internal error was encountered."),
        503: GoogleAPIError(.unavailable, reason: "backendError", "The service is not available; try again later."),
    ]

    /// Reads the rules from settings by name. Other settings are ignored.
    init(_ settings: [String: JSONValue] = [:]) {
        failure = settings[StoreSetting.playAPIError.name]?.stringValue.flatMap { Int($0) }
            .flatMap { Self.failures[$0] }
        dailyQuota = settings[StoreSetting.playQuota.name]?.intValue
        let seconds = settings[StoreSetting.playAPILatency.name]?.doubleValue ?? 0
        delay = min(max(seconds, 0), StoreSetting.longestLatency)
    }
}
