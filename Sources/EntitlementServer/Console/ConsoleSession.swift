import Foundation

/// A sign-in to the console: the key that was presented, and the rights that were chosen with it.
struct ConsoleSession: Sendable, Equatable {
    /// The rights of a session.
    enum Role: String, Sendable, CaseIterable {
        /// Reads the pages.
        case readOnly
        /// Also executes actions.
        case full
    }

    /// The number of seconds without a request after which a session ends.
    static let idleTimeout: TimeInterval = 30 * 60
    /// The number of seconds after which a session ends in any case.
    static let lifetime: TimeInterval = 8 * 3600
    /// The number of seconds after which a request renews the token. Earlier requests keep the token.
    static let renewalInterval: TimeInterval = 60

    /// The caller whose key opened the session.
    let caller: Caller
    let role: Role
    /// 32 unpredictable bytes, which distinguish the session from others of the same key.
    let id: [UInt8]
    let startedAt: Date
    /// The time of the request that the token was issued for.
    var usedAt: Date

    /// Whether the session has not ended at an instant.
    func isCurrent(at instant: Date) -> Bool { instant < end }

    /// The end of the session if no further request comes, exclusive.
    var end: Date {
        min(usedAt.addingTimeInterval(Self.idleTimeout), startedAt.addingTimeInterval(Self.lifetime))
    }
}
