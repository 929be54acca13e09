import AppStorePayloads
import Foundation
import Primitives
import StoreModel

/// A setting of the whole store. `Documentation/Formats.md` lists the settings and their values.
public struct StoreSetting: Sendable, Hashable {
    /// The name, such as `gracePeriod` or `errors.purchase`.
    public let name: String
    package let kind: Kind
    /// A description in a phrase.
    public let summary: String

    /// The kind of a setting's value. The set is closed.
    package enum Kind: Sendable, Hashable {
        /// A Boolean value.
        case flag
        /// One of several strings.
        case choice([String])
        /// The country of a known storefront, as an ISO 3166-1 alpha-3 code.
        case storefront
        /// A number of seconds, 0 to 60.
        case seconds
        /// An absolute http or https URL.
        case url
        /// A string that is stored, listed and exported only as its SHA-256.
        case secret
        /// The number of an error of the App Store Server API.
        case serverError
        /// A number of requests, 1 to `highestQuota`, or `off`.
        case quota
    }

    /// The length of the grace period after a failed renewal.
    public static let gracePeriod = StoreSetting(
        name: "gracePeriod", kind: .choice(["off", "3d", "16d", "28d"]),
        summary: "the length of the grace period after a failed renewal")
    /// Whether every purchase waits for approval, except on accounts with their own value.
    public static let askToBuy = StoreSetting(
        name: "askToBuy", kind: .flag,
        summary: "every purchase waits for approval, except on accounts with their own value")
    /// Whether every purchase is interrupted, except on accounts with their own value.
    public static let interruptedPurchases = StoreSetting(
        name: "interruptedPurchases", kind: .flag,
        summary: "every purchase is interrupted until it is resolved, except on accounts with their own value")
    /// Whether the payment of every renewal fails.
    public static let renewalsFail = StoreSetting(
        name: "renewalsFail", kind: .flag, summary: "the payment of every renewal fails")
    /// The storefront of accounts without one of their own.
    public static let storefront = StoreSetting(
        name: "storefront", kind: .storefront, summary: "the storefront of accounts without one of their own")
    /// The speed of virtual time.
    public static let timeRate = StoreSetting(
        name: "timeRate", kind: .choice(TimeRate.names), summary: "the speed of virtual time")

    /// The URL that receives App Store Server Notifications. While it is `off`, no notifications are created.
    public static let notificationsURL = StoreSetting(
        name: "notificationsURL", kind: .url,
        summary: "the URL for App Store Server Notifications; while it is off, none are created")
    /// Whether failed notifications are sent again, as in production, or not, as in the sandbox.
    public static let notificationRetries = StoreSetting(
        name: "notificationRetries", kind: .choice(["production", "sandbox"]),
        summary:
            "whether a failed notification is sent again, as in production, or not, as in the sandbox")
    /// Whether all notifications of a skipped time are sent, or only the latest of several equal ones in a row.
    public static let notifySkippedTime = StoreSetting(
        name: "notifySkippedTime", kind: .choice(["latest", "all"]),
        summary: "which of several equal notifications of a skipped time are sent")
    /// Whether each notification that arrives at the first attempt is sent once more.
    public static let notificationDuplicates = StoreSetting(
        name: "notificationDuplicates", kind: .flag,
        summary: "a notification that arrives at the first attempt is sent once more at once")
    /// Whether the later one of two waiting notifications of a purchase is sent first.
    public static let notificationsOutOfOrder = StoreSetting(
        name: "notificationsOutOfOrder", kind: .flag,
        summary: "of two notifications of one purchase that wait, the later one is sent first")
    /// The URL that receives the real-time developer notifications of Google Play. While it is `off`, none are created.
    package static let playNotificationsURL = StoreSetting(
        name: "playNotificationsURL", kind: .url,
        summary: "the URL for real-time developer notifications of Google Play; while it is off, none are created")
    /// The HTTP status of the error with which the Google Play Developer API answers; `off` means none.
    package static let playAPIError = StoreSetting(
        name: "errors.playAPI", kind: .choice(["off"] + PlayRules.failures.keys.sorted().map { "\($0)" }),
        summary: "the status of the error with which the Google Play Developer API is answered")
    /// The real time before an answer of the Google Play Developer API, in seconds.
    package static let playAPILatency = StoreSetting(
        name: "latency.playAPI", kind: .seconds,
        summary: "seconds of real time before the Google Play Developer API is answered")
    /// The number of requests to the Google Play Developer API in a day of virtual time; `off` means no limit.
    package static let playQuota = StoreSetting(
        name: "playQuota", kind: .quota,
        summary: "the number of requests to the Google Play Developer API in a day of virtual time")
    /// The URL of the app's server for realtime requests of Retention Messaging.
    public static let realtimeURL = StoreSetting(
        name: "realtimeURL", kind: .url, summary: "the URL for realtime requests of Retention Messaging")
    /// Whether uploaded messages and images wait for a review, as in production.
    public static let retentionReview = StoreSetting(
        name: "retentionReview", kind: .flag,
        summary: "uploaded retention messages and images wait for a review, as in production")
    /// The result of every realtime request, which is then not sent; `off` means that requests are sent.
    public static let realtimeErrors = StoreSetting(
        name: "errors.realtime",
        kind: .choice(["off"] + AppStoreServerAPI.SendAttemptResult.failures.map(\.rawValue)),
        summary: "the result of a realtime request, which is then not sent")
    /// The real time before a realtime request is sent, in seconds. It counts towards the time limit of the request.
    public static let realtimeLatency = StoreSetting(
        name: "latency.realtime", kind: .seconds, summary: "seconds of real time before a realtime request is sent")

    /// The decider of refund requests: tests and people, the preference of the app's server, or always the same.
    public static let refundDecisions = StoreSetting(
        name: "refundDecisions", kind: .choice([RefundDecider.manual] + RefundDecider.allCases.map(\.rawValue)),
        summary: "whether refund requests wait for a decision, or are decided when the app's server answers")
    /// The inviter of the members of new subscriptions with several seats; while it is `off`, none are sold.
    public static let seatInvitations = StoreSetting(
        name: "seatInvitations", kind: .choice(["off", "apple", "developer"]),
        summary: "who invites the members of a subscription with several seats; while it is off, none are sold")
    /// The app's shared secret, which is the password of `/verifyReceipt`.
    public static let sharedSecret = StoreSetting(
        name: "sharedSecret", kind: .secret,
        summary: "the app's shared secret, which is the password of /verifyReceipt")
    /// The environment of `/verifyReceipt`.
    public static let verifyReceiptEnvironment = StoreSetting(
        name: "verifyReceiptEnvironment", kind: .choice(["sandbox", "production"]),
        summary: "the environment of /verifyReceipt")
    /// The status with which `/verifyReceipt` answers; `off` means the status of the receipt.
    public static let verifyReceiptErrors = StoreSetting(
        name: "errors.verifyReceipt", kind: .choice(["off"] + ReceiptStatus.injectable.map { "\($0.rawValue)" }),
        summary: "the status with which /verifyReceipt answers")

    /// The environment whose rate limits the App Store Server API has; `off` means no limits.
    public static let serverAPIRateLimit = StoreSetting(
        name: "serverAPIRateLimit", kind: .choice(ServerRules.RateLimit.allCases.map(\.rawValue)),
        summary: "the environment whose hourly rate limits the App Store Server API has")
    /// The error with which the App Store Server API answers; `off` means none.
    public static let serverAPIError = StoreSetting(
        name: "errors.serverAPI", kind: .serverError,
        summary: "the error with which the App Store Server API is answered")
    /// The real time before an answer of the App Store Server API, in seconds.
    public static let serverAPILatency = StoreSetting(
        name: "latency.serverAPI", kind: .seconds,
        summary: "seconds of real time before the App Store Server API is answered")

    /// Returns the setting for the error with which the store answers `api`; `off` means none.
    public static func errors(_ api: InjectedFaults.API) -> StoreSetting {
        StoreSetting(
            name: "errors.\(api.rawValue)", kind: .choice(["off"] + api.errors.map(\.rawValue)),
            summary: "the error with which \(api.summary) is answered")
    }

    /// Returns the setting for the real time before an answer of `api`, in seconds.
    public static func latency(_ api: InjectedFaults.API) -> StoreSetting {
        StoreSetting(
            name: "latency.\(api.rawValue)", kind: .seconds,
            summary: "seconds of real time before \(api.summary) is answered")
    }

    /// All settings.
    public static let all: [StoreSetting] =
        [gracePeriod, askToBuy, interruptedPurchases, renewalsFail, storefront, timeRate]
        + [notificationsURL, notificationRetries, notifySkippedTime, notificationDuplicates, notificationsOutOfOrder]
        + [
            playNotificationsURL, realtimeURL, retentionReview, realtimeErrors, realtimeLatency, refundDecisions,
            seatInvitations,
        ]
        + [sharedSecret, verifyReceiptEnvironment, verifyReceiptErrors]
        + [serverAPIRateLimit, serverAPIError, serverAPILatency, playAPIError, playAPILatency, playQuota]
        + InjectedFaults.API.allCases.map(errors) + InjectedFaults.API.allCases.map(latency)

    private static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })

    /// Returns the setting called `name`.
    public static func named(_ name: String) -> StoreSetting? { byName[exactly: name] }

    /// The value of a setting that was not set.
    var defaultValue: JSONValue {
        switch kind {
        case .flag: false
        case .seconds: 0
        case .choice(let texts): .string(texts[0])
        case .storefront, .url, .secret, .serverError, .quota: "off"
        }
    }

    /// Whether the setting has another value than its default.
    func isSet(in settings: [String: JSONValue]) -> Bool { settings[name].map { $0 != defaultValue } ?? false }

    /// Converts a value to its stored form. Reads strings as people type them: `on`, `true`, `16d`, `0.5`.
    ///
    /// - Parameter given: A value.
    /// - Returns: The stored form.
    /// - Throws: `SimulatorError` (`invalidValue`) with the values that the setting takes.
    public func value(of given: JSONValue) throws -> JSONValue {
        switch kind {
        case .flag:
            if given.boolValue != nil { return given }
            if let isOn = ["on": true, "true": true, "off": false, "false": false][given.stringValue] {
                return .bool(isOn)
            }
        case .choice(let texts):
            let text = given.stringValue ?? given.intValue.map { "\($0)" }
            if let text, texts.contains(text) { return .string(text) }
        case .storefront:
            if let text = given.stringValue, Storefronts.storefront(text) != nil { return given }
        case .url:
            if given == defaultValue { return defaultValue }
            if let url = given.stringValue.flatMap(URL.init), url.host() != nil, url.absoluteString.utf8.count <= 2048,
                ["http", "https"].contains(url.scheme?.lowercased())
            {
                return given
            }
        case .serverError:
            if given == defaultValue { return defaultValue }
            if let number = given.intValue ?? given.stringValue.flatMap({ Int($0) }),
                AppStoreServerAPI.ErrorCode.all.contains(.init(rawValue: number))
            {
                return .string("\(number)")
            }
        case .seconds:
            let number = given.doubleValue ?? given.stringValue.flatMap { JSONNumber(text: $0)?.double }
            if let number, (0...Self.longestLatency).contains(number) { return .number(number) }
        case .quota:
            if given == defaultValue { return defaultValue }
            let number = given.intValue ?? given.stringValue.flatMap { JSONNumber(text: $0)?.int }
            if let number, (1...Self.highestQuota).contains(number) { return .number(number) }
        case .secret:
            if given == defaultValue || given == "" { return defaultValue }
            if let secret = given.stringValue.flatMap(SharedSecret.init) { return .string(secret.kept) }
        }
        throw SimulatorError(.invalidValue, "The setting \(name) takes \(rule).")
    }

    /// The highest number of requests that a quota can be.
    static let highestQuota = 1_000_000

    /// The maximum latency that can be injected, in seconds.
    public static let longestLatency = 60.0

    /// A description of the values that the setting takes.
    public var rule: String {
        switch kind {
        case .flag: "true or false"
        case .choice(let texts): "one of \(texts.joined(separator: ", "))"
        case .storefront: "a country's store such as USA or DEU"
        case .url: "an http or https URL, or off"
        case .serverError: "off, or the number of an error of the App Store Server API such as 5000001"
        case .seconds: "a number of seconds from 0 to \(Int(Self.longestLatency))"
        case .quota: "a number of requests from 1 to \(Self.highestQuota), or off"
        case .secret: "a string of 1 to 255 bytes without control characters, or off"
        }
    }
}

extension Dictionary where Key == String {
    fileprivate subscript(name: String?) -> Value? { name.flatMap { self[$0] } }
}
