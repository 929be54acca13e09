import Foundation
import StoreModel

/// What an app's store tells the sibling apps of its seller: the subscriptions of who uses the device, as the server said
/// last. Nothing in it is secret: no customer, no receipt, nothing signed.
///
/// It is kept as JSON (Documentation/SeveralApps.md) and made anew whenever the server has spoken.
public struct SharedUserInfo: Sendable, Equatable {
    /// Who tells.
    public var application: BundleID
    public var environment: StoreEnvironment
    /// When the server gave the answer that this was made of, by the clock of the store that tells.
    public var validatedAt: Date
    /// Those that give access, the longest first; when none does, the one that ended last.
    public var subscriptions: [SharedSubscription]

    public init(
        application: BundleID, environment: StoreEnvironment, validatedAt: Date, subscriptions: [SharedSubscription]
    ) {
        self.application = application
        self.environment = environment
        self.validatedAt = validatedAt
        self.subscriptions = subscriptions
    }

    /// The subscription that counts: an active one, else the one that ended last. `nil` when there is none.
    ///
    /// Nothing is earlier than what is told: a device whose clock was set back is at `validatedAt`.
    public func subscriptionInfo(at now: Date) -> SubscriptionInfo? {
        infos(at: now).max { $0.countsLess(than: $1) }
    }

    /// Whether a subscription gives access.
    public func isSubscriber(at now: Date) -> Bool { subscriptionInfo(at: now)?.isExpired == false }

    func infos(at now: Date) -> [SubscriptionInfo] {
        let now = max(now, validatedAt)
        return subscriptions.map { SubscriptionInfo(subscription: $0.subscription, isExpired: now >= $0.accessUntil) }
    }

    /// The instants at which something in it ends.
    var ends: [Date] { subscriptions.map(\.accessUntil) }
}

/// A subscription, and until when it gives access if nothing more is heard of it.
public struct SharedSubscription: Sendable, Equatable, Codable {
    /// What the server said, unchanged.
    public var subscription: CustomerSubscription
    /// The first instant without access: the subscription's end, and the grace of the store that tells.
    public var accessUntil: Date

    public init(_ subscription: CustomerSubscription, accessUntil: Date) {
        self.subscription = subscription
        self.accessUntil = accessUntil
    }
}

extension SharedUserInfo: Codable {
    /// The form in which it is kept. An app that reads another one says so, and believes nothing of it.
    public static let version = 1

    private enum CodingKeys: CodingKey {
        case version, application, environment, validatedAt, subscriptions
    }

    /// Many times what any app tells, in bytes.
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

    /// What `application` has told. Throws `PurchaseError`: `sharedUserInfoOfOtherVersion`, `sharedUserInfoDamaged`.
    init(_ bytes: [UInt8], of application: BundleID) throws(PurchaseError) {
        guard bytes.count <= Self.sizeLimit else {
            throw PurchaseError(
                .sharedUserInfoDamaged,
                "What \(application) has told of its subscriptions has \(bytes.count) bytes; at most \(Self.sizeLimit) are read."
            )
        }
        do {
            self = try WireJSON.decode(Self.self, from: bytes)
        } catch let other as OtherVersion {
            throw PurchaseError(
                .sharedUserInfoOfOtherVersion,
                "\(application) tells of its subscriptions in version \(other.version); this app reads \(Self.version)."
            )
        } catch {
            throw PurchaseError(
                .sharedUserInfoDamaged,
                "What \(application) has told of its subscriptions is damaged; it tells anew when it runs.",
                underlying: error)
        }
        guard self.application == application else {
            throw PurchaseError(
                .sharedUserInfoDamaged, "What \(self.application) tells stands in the place of \(application).")
        }
    }
}

extension SubscriptionInfo {
    /// Whether another one counts instead: active before ended, then the one with the later end, be it by expiry or by
    /// being taken back, as the server said it and without the grace of any device.
    func countsLess(than other: SubscriptionInfo) -> Bool {
        (isExpired ? 0 : 1, end) < (other.isExpired ? 0 : 1, other.end)
    }

    private var end: Date { min(subscription.effectiveUntil, subscription.revokedAt ?? .distantFuture) }
}
