import Foundation
import Primitives
import SQLStorage
import StoreModel

/// The rules that answers are computed with: those of this server alone, or those that all servers of a database share.
///
/// A shared database stores the rules by their digest, with a pointer to the active ones. Each change of the pointer
/// has a number, the epoch, which is also stored with each answer. An answer of another epoch is recomputed before it
/// is sent, so servers that were started with different rules do not contradict each other.
///
/// A database that is not shared has no epochs. If the rules change while its server runs, the entry counts the
/// replacements, and stored answers are not used until all of them are marked as expired.
final class ActiveRules: Sendable {
    /// The rules of one app.
    struct Entry: Sendable {
        var rules = AppRules()
        /// The epoch; `nil` if the database is not shared.
        var epoch: Int64?
        /// The number of replacements since the start. 0 if the database is shared.
        var replacements = 0
        /// The position after which stored answers may be of replaced rules; `nil` if all stored answers can be used, and
        /// if the database is shared.
        var unmarked: AnswerPosition?

        var version: Version { Version(epoch: epoch, replacements: replacements) }
    }

    /// The identity of an app's rules in this process. Answers of different versions must not be mixed.
    struct Version: Hashable, Sendable {
        var epoch: Int64?
        var replacements = 0
    }

    /// A position among the answers of an app, which are ordered by environment and customer.
    struct AnswerPosition: Sendable {
        var environment = ""
        var customer = ""
    }

    private let entries: Locked<[BundleID: Entry]>

    init(_ entries: [BundleID: Entry]) { self.entries = Locked(entries) }

    /// Creates rules without epochs, for a database that is not shared.
    convenience init(_ rules: [BundleID: AppRules]) { self.init(rules.mapValues { Entry(rules: $0) }) }

    subscript(app: BundleID) -> Entry { entries.withLock { $0[app] } ?? Entry() }

    var apps: [BundleID] { entries.withLock { Array($0.keys) } }

    /// Loads rules that another server activated.
    func refresh(from database: any SQLDatabase) async throws {
        for (app, entry) in entries.withLock({ $0 }) {
            guard let epoch = entry.epoch else { continue }
            let name = SQLValue.text(app.rawValue)
            let pointer = try await database.lookup("SELECT rules_epoch FROM app WHERE bundle_id = ?1", [name])
            guard let pointer, try pointer["rules_epoch"] != epoch else { continue }
            let row = try await database.lookup(Self.active, [name])
            guard let row else { continue }
            use(try Self.entry(row, insteadOf: entry.rules), for: app)
        }
    }

    /// Uses rules of a shared database, unless another caller has read newer ones meanwhile.
    func use(_ new: Entry, for app: BundleID) {
        entries.withLock { entries in
            guard let current = entries[app]?.epoch, let found = new.epoch, found > current else { return }
            entries[app] = new
        }
    }

    /// Replaces the rules of an app in a database that is not shared.
    ///
    /// - Parameter marksAnswers: Whether stored answers cannot be used until they are marked as expired.
    func replace(_ rules: AppRules, of app: BundleID, marksAnswers: Bool) {
        entries.withLock { entries in
            var entry = entries[app] ?? Entry()
            entry.rules = rules
            entry.replacements += 1
            if marksAnswers { entry.unmarked = AnswerPosition() }
            entries[app] = entry
        }
    }

    /// Stores the position up to which answers are marked as expired, unless the rules were replaced since `version`.
    /// `nil` permits the use of stored answers.
    func setUnmarked(_ position: AnswerPosition?, of app: BundleID, in version: Version) {
        entries.withLock { entries in
            if entries[app]?.version == version { entries[app]?.unmarked = position }
        }
    }

    private static let active = """
        SELECT app.rules_epoch AS epoch, app_rules.rules AS rules FROM app CROSS JOIN app_rules
        WHERE app.bundle_id = ?1 AND app_rules.app = ?1 AND app_rules.epoch = app.rules_epoch
        """

    /// The result of `register`.
    enum Registration: Sendable {
        /// The rules were active already.
        case unchanged
        case activated
        /// Later rules replaced these before, and stay active.
        case superseded
    }

    /// Activates the rules of an app if they are new to the database, and returns the active rules.
    ///
    /// Rules that were replaced before are activated only if `activatesFormerRules` is set, so that a server with an
    /// older configuration reverts nothing.
    static func register(
        _ app: EntitlementService.Configuration.App, activatesFormerRules: Bool, _ connection: any SQLConnection
    ) throws -> (entry: Entry, registration: Registration) {
        let name = SQLValue.text(app.bundleID.rawValue)
        let text = AppRules(app).text
        let digest = SQLValue.blob(SHA256.hash(text))
        try connection.lockRows("SELECT 1 FROM app WHERE bundle_id = ?1", [name])
        let row = try connection.first("SELECT rules_epoch FROM app WHERE bundle_id = ?1", [name])
        let epoch: Int64 = try row.map { try $0["rules_epoch"] } ?? 0
        let stored = try connection.first(
            "SELECT epoch FROM app_rules WHERE app = ?1 AND digest = ?2", [name, digest])
        let isActive = try stored.map { try $0["epoch"] == epoch } ?? false
        let isNew = stored == nil || activatesFormerRules && !isActive
        if isNew {
            let next = SQLValue.integer(epoch + 1)
            try connection.perform(
                """
                INSERT INTO app_rules (app, digest, rules, epoch) VALUES (?1, ?2, ?3, ?4)
                ON CONFLICT (app, digest) DO UPDATE SET epoch = excluded.epoch
                """, [name, digest, .blob(text), next])
            try connection.perform(
                "UPDATE app SET rules_epoch = ?2, rules_digest = ?3 WHERE bundle_id = ?1",
                [name, next, .blob(EntitlementService.rulesDigest(app.features))])
        }
        let own = AppRules(app)
        guard let active = try connection.first(Self.active, [name]) else {
            throw EntitlementServerError(.internalInconsistency, "The ledger has no active rules of an app.")
        }
        return (try entry(active, insteadOf: own), isNew ? .activated : isActive ? .unchanged : .superseded)
    }

    /// Reads the active rules of an app from a shared database; `nil` if it has none that this program can read.
    static func stored(of app: BundleID, _ connection: any SQLConnection) throws -> ActiveRules? {
        guard let row = try connection.first(active, [.text(app.rawValue)]),
            let rules = AppRules(text: try row["rules"])
        else { return nil }
        return ActiveRules([app: Entry(rules: rules, epoch: try row["epoch"])])
    }

    /// Reads the columns `epoch` and `rules`. If a program with another reducer wrote the rules, this one cannot read
    /// them and uses `own` with the epoch -1, so that the other program recomputes the answers.
    private static func entry(_ row: SQLRow, insteadOf own: AppRules) throws -> Entry {
        guard let rules = AppRules(text: try row["rules"]) else { return Entry(rules: own, epoch: -1) }
        return Entry(rules: rules, epoch: try row["epoch"])
    }
}

extension AppRules {
    /// The version of the reducer. It grows when the reducer computes other answers from the same facts.
    static let reducerNumber = 5

    init(_ app: EntitlementService.Configuration.App) {
        self.init(
            reducer: EntitlementReducer(features: app.features), transferMode: app.transferMode, credits: app.credits)
    }

    /// The text of the values on which answers and credits depend, and of the reducer's version. Rules are equal if their
    /// texts are.
    var text: [UInt8] {
        let features = reducer.features.features.mapValues { products in
            JSONValue.array(products.map(\.rawValue).sorted().map { .string($0) })
        }
        let credits = credits.credits.mapValues { credit -> JSONValue in
            [
                "products": .object(
                    Dictionary(uniqueKeysWithValues: credit.products.map { ($0.key.rawValue, .number($0.value)) })),
                "prices": .object(credit.prices.mapValues { .number($0) }),
            ]
        }
        let text: JSONValue = [
            "reducer": .number(Self.reducerNumber), "features": .object(features), "credits": .object(credits),
            "transferMode": .string(transferMode.rawValue),
        ]
        return text.encoded()
    }

    /// Parses the stored text; `nil` for the text of a program with another reducer.
    fileprivate init?(text: [UInt8]) {
        guard let json = try? JSONValue(parsing: text), json["reducer"]?.intValue == Self.reducerNumber,
            let mode = json["transferMode"]?.stringValue.flatMap(TransferMode.init(rawValue:)),
            let features = try? FeatureMap(json: json), let credits = try? CreditTable(json: json)
        else { return nil }
        self.init(reducer: EntitlementReducer(features: features), transferMode: mode, credits: credits)
    }
}
