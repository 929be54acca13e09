import Foundation
import Primitives
import StoreModel

/// Keeps what the plugins said last in a `SecureStorage`, a value per user, so that a launch without a network knows what
/// the one before it knew.
actor AnswerShelf {
    /// How far the dates on disk may lag behind when nothing but they has changed: a write costs a flush of the disk.
    private static let dateLag: TimeInterval = 3600

    private let storage: any SecureStorage
    private let report: @Sendable (any Error) -> Void
    private var lastChange = 0
    private var written: (version: KeptAnswers.Version, at: Date)?

    /// - Parameter report: is told when something could not be read or written; nobody else hears of it.
    init(storage: any SecureStorage, report: @escaping @Sendable (any Error) -> Void) {
        self.storage = storage
        self.report = report
    }

    /// What an earlier run kept of `user`. What is damaged is set aside, and counts as nothing.
    func answers(of user: UserId?) -> KeptAnswers? {
        let key = Self.key(user)
        do {
            guard let bytes = try storage.data(for: key) else { return nil }
            let kept = try WireJSON.decode(KeptAnswers.self, from: bytes)
            return kept.version.user == user ? kept : nil
        } catch {
            report(error)
            if (error as? PurchaseError)?.code == .storageCorrupt || error is DecodingError {
                _ = try? (storage as? any RepairableStorage)?.setAside(key)
            }
            return nil
        }
    }

    /// Durable when it returns, unless it was reported. Most reads change nothing: then `answers` is not even called.
    ///
    /// - Parameter version: that of `answers`, or an older one.
    func keep(_ version: KeptAnswers.Version, at now: Date, _ answers: @Sendable () -> KeptAnswers?) {
        guard isNews(version, at: now), let answers = answers() else { return }
        lastChange = answers.version.change
        written = (answers.version, now)
        do {
            try storage.set(try WireJSON.encode(answers), for: Self.key(answers.version.user))
        } catch {
            // Tried again with the next answer.
            written = nil
            report(error)
        }
    }

    private func isNews(_ version: KeptAnswers.Version, at now: Date) -> Bool {
        guard let written, version == written.version else { return version.change >= lastChange }
        return abs(now.timeIntervalSince(written.at)) >= Self.dateLag
    }

    /// What was said to a user who left; answers of before `change` are not kept any more.
    func forget(_ user: UserId?, change: Int) {
        lastChange = max(lastChange, change)
        do {
            try storage.set(nil, for: Self.key(user))
        } catch {
            report(error)
        }
    }

    /// Names no user: a storage's keys may be seen where its values may not.
    private static func key(_ user: UserId?) -> String {
        guard let user else { return "lastAnswers" }
        let kind =
            switch user {
            case .uuid: "uuid"
            case .string: "string"
            }
        return "lastAnswers-" + Hex.encode(SHA256.hash(Array("\(kind) \(user.stringValue)".utf8)).prefix(16))
    }
}
