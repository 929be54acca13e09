import Foundation
import Primitives
import SQLStorage
import StoreModel

/// The apps whose rules a reload activated, and those whose rules it did not activate because later ones replaced them.
package struct ReloadedRules: Sendable {
    package var activated: [BundleID] = []
    package var superseded: [BundleID] = []
}

extension Ledger {
    /// The digest in the row of an app while stored answers may be of several rules. It differs from every digest of
    /// rules, so a server that starts then marks all answers as expired.
    private static let digestOfSeveralRules: [UInt8] = []

    /// Proposes rules while the server runs, those of all apps or of none.
    ///
    /// - Parameter activatesFormerRules: Whether rules that later ones replaced in a shared database become active
    ///   again. A database that is not shared always gets the proposed rules.
    func propose(
        _ apps: [EntitlementService.Configuration.App], activatesFormerRules: Bool
    ) async throws -> ReloadedRules {
        guard isShared else { return ReloadedRules(activated: try await replaceRules(of: apps)) }
        let registered = try await database.write { connection in
            try apps.map { app in
                (
                    app.bundleID,
                    try ActiveRules.register(app, activatesFormerRules: activatesFormerRules, connection)
                )
            }
        }
        var reloaded = ReloadedRules()
        for (app, (entry, registration)) in registered {
            rules.use(entry, for: app)
            switch registration {
            case .unchanged: break
            case .activated: reloaded.activated.append(app)
            case .superseded: reloaded.superseded.append(app)
            }
        }
        return reloaded
    }

    /// Replaces rules in a database that is not shared. From then on, no answer of the former rules is returned: cached
    /// ones are removed, and stored ones are recomputed by a read until `markFormerAnswers` has marked all of them.
    private func replaceRules(of apps: [EntitlementService.Configuration.App]) async throws -> [BundleID] {
        let changed = apps.map { ($0.bundleID, AppRules($0)) }.filter { rules[$0].rules.text != $1.text }
        guard !changed.isEmpty else { return [] }
        // Only the features determine answers.
        let remapped = Set(changed.filter { rules[$0].rules.featuresDigest != $1.featuresDigest }.map(\.0))
        if !remapped.isEmpty {
            // Before the first answer of the new rules, so that a server that is killed now leaves no mixed answers.
            try await database.write { connection in
                for app in remapped {
                    try connection.perform(
                        "UPDATE app SET rules_digest = ?2 WHERE bundle_id = ?1",
                        [.text(app.rawValue), .blob(Self.digestOfSeveralRules)])
                }
            }
        }
        // In a body of `write`, because no other body runs meanwhile: each one computes and caches its answers either
        // with the former rules before this, or with the new rules after this.
        let isReplaced = Locked(false)
        do {
            try await database.write { [rules, cache] _ in
                for (app, new) in changed { rules.replace(new, of: app, marksAnswers: remapped.contains(app)) }
                if !remapped.isEmpty { cache.removeAll() }
                isReplaced.withLock { $0 = true }
            }
        } catch {
            // The body writes nothing, so a failed commit does not undo it.
            guard isReplaced.withLock(\.self) else { throw error }
        }
        return changed.map(\.0)
    }

    /// Marks stored answers of replaced rules as expired, those of the next 1000 customers of an app. They are then
    /// recomputed, and their changes become events, without a request. After the last ones, stored answers are used
    /// again.
    ///
    /// - Returns: Whether there may be more.
    func markFormerAnswers(of app: BundleID) async throws -> Bool {
        let entry = rules[app]
        guard let start = entry.unmarked else { return false }
        let next = try await database.write { connection -> ActiveRules.AnswerPosition? in
            let values: [SQLValue] = [.text(app.rawValue), .text(start.environment), .text(start.customer)]
            let page = try connection.query(
                """
                SELECT environment, id FROM customer WHERE app = ?1 AND (environment, id) > (?2, ?3)
                ORDER BY environment, id LIMIT 1000
                """, values)
            guard let last = page.last else {
                guard rules[app].version == entry.version else { return nil }
                let digest = entry.rules.featuresDigest
                try connection.perform(
                    "UPDATE app SET rules_digest = ?2 WHERE bundle_id = ?1", [.text(app.rawValue), .blob(digest)])
                return nil
            }
            let end = ActiveRules.AnswerPosition(environment: try last["environment"], customer: try last["id"])
            try connection.perform(
                """
                UPDATE customer SET valid_until = 0 WHERE app = ?1 AND (environment, id) > (?2, ?3)
                    AND (environment, id) <= (?4, ?5) AND (valid_until IS NULL OR valid_until > 0)
                """, values + [.text(end.environment), .text(end.customer)])
            return end
        }
        rules.setUnmarked(next, of: app, in: entry.version)
        return true
    }

    /// Marks answers of a former epoch as expired, for the next 1000 customers after `customer`. They are then
    /// recomputed, and their changes become events, without a request.
    ///
    /// - Returns: The last customer of this batch; `nil` at the end.
    func expireFormerAnswers(in ledgerID: LedgerID, after customer: String) async throws -> String? {
        guard let epoch = rules[ledgerID.app].epoch else { return nil }
        let page = try database.read { connection in
            try connection.query(
                "SELECT id FROM customer WHERE app = ?1 AND environment = ?2 AND id > ?3 ORDER BY id LIMIT 1000",
                ledgerID.values + [.text(customer)])
        }
        guard let last: String = try page.last.map({ try $0["id"] }) else { return nil }
        try await database.write { connection in
            try connection.perform(
                """
                UPDATE customer SET valid_until = 0 WHERE app = ?1 AND environment = ?2 AND id > ?3 AND id <= ?4
                    AND rules_epoch <> ?5 AND (valid_until IS NULL OR valid_until > 0)
                """, ledgerID.values + [.text(customer), .text(last), .integer(epoch)])
        }
        return last
    }
}

extension AppRules {
    /// The digest in the row of an app whose stored answers were computed with these rules.
    fileprivate var featuresDigest: [UInt8] { EntitlementService.rulesDigest(reducer.features) }
}
