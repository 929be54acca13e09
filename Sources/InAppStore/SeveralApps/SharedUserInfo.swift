import Foundation
import StoreModel

/// The subscriptions that an app's store shares with the sibling apps of its seller, from the server's last answer
/// about the device's customer. It contains no secrets: no customer, no receipt, nothing signed.
///
/// It is stored as JSON (Documentation/SeveralApps.md), and written again after each answer of the server.
public struct SharedUserInfo: Sendable, Equatable {
    /// The app that shares.
    public var application: BundleID
    /// The environment of the subscriptions.
    public var environment: StoreEnvironment
    /// When the server gave the answer, by the clock of the sharing store.
    public var validatedAt: Date
    /// The subscriptions that give access, the latest end first; if there are none, the one that ended last.
    public var subscriptions: [SharedSubscription]

    /// Creates the shared information of an app.
    ///
    /// - Parameters:
    ///   - application: The app that shares.
    ///   - environment: The environment of the subscriptions.
    ///   - validatedAt: When the server gave the answer.
    ///   - subscriptions: The subscriptions that give access, the latest end first; if there are none, the one that
    ///     ended last.
    public init(
        application: BundleID, environment: StoreEnvironment, validatedAt: Date, subscriptions: [SharedSubscription]
    ) {
        self.application = application
        self.environment = environment
        self.validatedAt = validatedAt
        self.subscriptions = subscriptions
    }

    /// Returns the effective subscription: an active one, or the one that ended last.
    ///
    /// An earlier time than `validatedAt` counts as `validatedAt`, because the device's clock may have been set back.
    ///
    /// - Parameter now: The time by the device's clock.
    /// - Returns: The subscription; `nil` if there is none.
    public func subscriptionInfo(at now: Date) -> SubscriptionInfo? {
        infos(at: now).max { $0.hasLowerPriority(than: $1) }
    }

    /// Returns whether a subscription gives access at the time `now`.
    public func isSubscriber(at now: Date) -> Bool { subscriptionInfo(at: now)?.isExpired == false }

    func infos(at now: Date) -> [SubscriptionInfo] {
        let now = max(now, validatedAt)
        return subscriptions.map { SubscriptionInfo(subscription: $0.subscription, isExpired: now >= $0.accessUntil) }
    }

    /// The ends of the subscriptions' access.
    var ends: [Date] { subscriptions.map(\.accessUntil) }
}

/// A subscription, and the end of its access unless it renews.
public struct SharedSubscription: Sendable, Equatable, Codable {
    /// The subscription, as the server sent it.
    public var subscription: CustomerSubscription
    /// The first instant without access: the end of the subscription or of a grace period, or the revocation.
    public var accessUntil: Date

    /// Creates a shared subscription.
    ///
    /// - Parameters:
    ///   - subscription: The subscription, as the server sent it.
    ///   - accessUntil: The first instant without access.
    public init(_ subscription: CustomerSubscription, accessUntil: Date) {
        self.subscription = subscription
        self.accessUntil = accessUntil
    }
}

extension SharedUserInfo: Codable {
    /// The version of the stored format. An app that reads another version reports it, and ignores the content.
    public static let version = 1

    private enum CodingKeys: CodingKey {
        case version, application, environment, validatedAt, subscriptions
    }

    /// The size limit in bytes. It is much larger than the information of any app.
    private static let sizeLimit = 64 << 10

    private struct OtherVersion: Error {
        var version: Int
    }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let version = try container.decode(Int.self, forKey: .version)
        guard version == Self.version else { throw OtherVersion(version: version) }
        application = try container.decode(BundleID.self, forKey: .application)
        environment = try container.decode(StoreEnvironment.self, forKey: .environment)
        validatedAt = try container.decode(Date.self, forKey: .validatedAt)
        subscriptions = try container.decode([SharedSubscription].self, forKey: .subscriptions)
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(Self.version, forKey: .version)
        try container.encode(application, forKey: .application)
        try container.encode(environment, forKey: .environment)
        try container.encode(validatedAt, forKey: .validatedAt)
        try container.encode(subscriptions, forKey: .subscriptions)
    }

    /// Decodes the information that `application` shares. Throws `PurchaseError`: `sharedUserInfoOfOtherVersion`,
    /// `sharedUserInfoDamaged`.
    init(_ bytes: [UInt8], of application: BundleID) throws(PurchaseError) {
        guard bytes.count <= Self.sizeLimit else {
            throw PurchaseError(
                .sharedUserInfoDamaged,
                "The shared subscriptions of \(application) have \(bytes.count) bytes. The limit is \(Self.sizeLimit)."
            )
        }
        do {
            self = try WireJSON.decode(Self.self, from: bytes)
        } catch let other as OtherVersion {
            throw PurchaseError(
                .sharedUserInfoOfOtherVersion,
                "\(application) shares its subscriptions in version \(other.version) of the format. "
                    + "This app reads version \(Self.version)."
            )
        } catch {
            throw PurchaseError(
                .sharedUserInfoDamaged,
                "The shared subscriptions of \(application) are damaged. The app writes them again when it runs.",
                underlying: error)
        }
        guard self.application == application else {
            throw PurchaseError(
                .sharedUserInfoDamaged, "The shared subscriptions of \(application) are those of \(self.application).")
        }
    }
}

extension SubscriptionInfo {
    /// Returns whether `other` takes precedence: an active subscription over an ended one, otherwise the later end. The
    /// end is the expiry or the revocation from the server, without the grace period of a device.
    func hasLowerPriority(than other: SubscriptionInfo) -> Bool {
        (isExpired ? 0 : 1, end) < (other.isExpired ? 0 : 1, other.end)
    }

    private var end: Date { min(subscription.effectiveUntil, subscription.revokedAt ?? .distantFuture) }
}
