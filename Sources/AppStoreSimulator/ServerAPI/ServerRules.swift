import AppStorePayloads
import Foundation
import Primitives
import StoreModel

/// What the settings want the App Store Server API to do.
struct ServerRules: Sendable, Hashable {
    /// Closed: whose limits hold.
    enum RateLimit: String, Sendable, CaseIterable {
        case off
        /// A tenth of production's.
        case sandbox
        case production

        /// How many requests an hour takes of an endpoint that takes `rate` a second in production; `nil`: any number.
        func budget(of rate: Int) -> Int? {
            switch self {
            case .off: nil
            case .sandbox: rate * 360
            case .production: rate * 3600
            }
        }
    }

    var rateLimit = RateLimit.off
    /// The error with which everything is answered.
    var failure: AppStoreServerAPI.ErrorCode?
    /// Seconds of real time before anything is answered.
    var delay = 0.0

    /// From settings by name; what is none of these is passed over.
    init(_ settings: [String: JSONValue] = [:]) {
        rateLimit = settings[StoreSetting.serverAPIRateLimit.name]?.stringValue.flatMap(RateLimit.init) ?? .off
        failure = settings[StoreSetting.serverAPIError.name]?.stringValue.flatMap { Int($0) }
            .map(AppStoreServerAPI.ErrorCode.init)
        let seconds = settings[StoreSetting.serverAPILatency.name]?.doubleValue ?? 0
        delay = min(max(seconds, 0), StoreSetting.longestLatency)
    }
}

/// How often each endpoint was asked in the current hour of the clock (Apple: Identifying rate limits).
struct HourlyBudgets: Sendable {
    private var hour = 0
    private var spent: [String: Int] = [:]

    /// Takes one of `budget` requests. Where all are spent nothing is taken, and the instant at which the next hour begins
    /// is returned.
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
