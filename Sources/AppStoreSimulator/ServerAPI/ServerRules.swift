import AppStorePayloads
import Foundation
import Primitives
import StoreModel

/// The settings for the App Store Server API.
struct ServerRules: Sendable, Hashable {
    /// The rate limits that apply. The set is closed.
    enum RateLimit: String, Sendable, CaseIterable {
        case off
        /// A tenth of the limits of production.
        case sandbox
        case production

        /// Returns the requests per hour to an endpoint with `rate` requests per second in production; `nil` means no
        /// limit.
        func budget(of rate: Int) -> Int? {
            switch self {
            case .off: nil
            case .sandbox: rate * 360
            case .production: rate * 3600
            }
        }
    }

    var rateLimit = RateLimit.off
    /// The error of every response to an authenticated request.
    var failure: AppStoreServerAPI.ErrorCode?
    /// The delay of each response to an authenticated request, in seconds of real time.
    var delay = 0.0

    /// Reads the rules from settings by name. Other settings are ignored.
    init(_ settings: [String: JSONValue] = [:]) {
        rateLimit = settings[StoreSetting.serverAPIRateLimit.name]?.stringValue.flatMap(RateLimit.init) ?? .off
        failure = settings[StoreSetting.serverAPIError.name]?.stringValue.flatMap { Int($0) }
            .map(AppStoreServerAPI.ErrorCode.init)
        let seconds = settings[StoreSetting.serverAPILatency.name]?.doubleValue ?? 0
        delay = min(max(seconds, 0), StoreSetting.longestLatency)
    }
}

/// The number of requests to each endpoint in the current hour (Apple: Identifying rate limits).
struct HourlyBudgets: Sendable {
    private var hour = 0
    private var spent: [String: Int] = [:]

    /// Uses one of `budget` requests. Returns the start of the next hour if none is left, otherwise `nil`.
    mutating func take(_ endpoint: String, of budget: Int, at now: Date) -> Date? {
        let current = Int((now.timeIntervalSince1970 / 3600).rounded(.down))
        if current != hour {
            hour = current
            spent = [:]
        }
        guard spent[endpoint, default: 0] < budget else { return Self.end(of: current) }
        spent[endpoint, default: 0] += 1
        return nil
    }

    static func end(ofHourAt now: Date) -> Date { end(of: Int((now.timeIntervalSince1970 / 3600).rounded(.down))) }

    private static func end(of hour: Int) -> Date { Date(timeIntervalSince1970: Double(hour + 1) * 3600) }
}
