import Foundation
import Primitives
import StoreModel

/// Stores the last answers of the plugins in a `SecureStorage`, one value per user. A launch without a network starts
/// with them.
actor AnswerCache {
    /// The age at which unchanged answers are written again with their new dates. Each write flushes the disk, so a new
    /// date alone is not written at once.
    private static let dateLag: TimeInterval = 3600

    private let storage: any SecureStorage
    private let report: @Sendable (any Error) -> Void
    private var lastChange = 0
    private var written: (version: StoredAnswers.Version, at: Date)?

    /// Creates a cache.
    ///
    /// - Parameters:
    ///   - storage: The storage for the answers.
    ///   - report: A function that receives the errors of the storage. They are not thrown.
    init(storage: any SecureStorage, report: @escaping @Sendable (any Error) -> Void) {
        self.storage = storage
        self.report = report
    }

    /// Returns the answers that an earlier run stored for a user. A damaged value is moved aside and counts as missing.
    func answers(of user: UserId?) -> StoredAnswers? {
        let key = Self.key(user)
        do {
            guard let bytes = try storage.data(for: key) else { return nil }
            let answers = try WireJSON.decode(StoredAnswers.self, from: bytes)
            return answers.version.user == user ? answers : nil
        } catch {
            report(error)
            if (error as? PurchaseError)?.code == .storageCorrupt || error is DecodingError {
                _ = try? (storage as? any RepairableStorage)?.setAside(key)
            }
            return nil
        }
    }

    /// Stores the answers durably, or reports an error. Calls `answers` only if they must be written: most reads change
    /// nothing. `version` is the version of `answers`, or an older one.
    func store(_ version: StoredAnswers.Version, at now: Date, _ answers: @Sendable () -> StoredAnswers?) {
        guard needsWriting(version, at: now), let answers = answers() else { return }
        lastChange = answers.version.change
        written = (answers.version, now)
        do {
            try storage.set(try WireJSON.encode(answers), for: Self.key(answers.version.user))
        } catch {
            written = nil  // The next answer repeats the attempt.
            report(error)
        }
    }

    private func needsWriting(_ version: StoredAnswers.Version, at now: Date) -> Bool {
        guard let written, version == written.version else { return version.change >= lastChange }
        return abs(now.timeIntervalSince(written.at)) >= Self.dateLag
    }

    /// Removes the answers of a user who is no longer logged in. Answers from before `change` are no longer stored.
    func forget(_ user: UserId?, change: Int) {
        lastChange = max(lastChange, change)
        do {
            try storage.set(nil, for: Self.key(user))
        } catch {
            report(error)
        }
    }

    /// Returns a key without the user's id, because the keys of a storage can be visible where its values are not.
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
