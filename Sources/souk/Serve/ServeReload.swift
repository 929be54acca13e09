import EntitlementServer
import Foundation
import Primitives
import StoreModel

/// Reads the settings of a running server again after SIGHUP, and takes over those that need no restart. If one of the
/// settings is wrong, nothing changes.
struct ServeReload: Sendable {
    let typed: Arguments
    let plan: ServePlan
    let listener: ServiceListener
    let service: EntitlementService
    let manager: ServiceManager

    /// The settings that are taken over, as the log line names them.
    private static let settings: JSONValue = [
        "tlsCertificate", "signingKey", "appStoreKey", "features", "transferMode", "webhooks", "webPurchases", "log",
    ]

    func run() async {
        manager.send(.reloading)
        defer { manager.send(.ready) }
        var line: JSONValue = ["time": .string(RFC3339.string(from: Date())), "level": "info", "requestID": "reload"]
        do {
            let later = try ServePlan(
                typed, environment: ProcessInfo.processInfo.environment, socket: plan.socket)
            _ = try LedgerLocation(later.arguments, typed: typed)
            let rules = try await plan.adopt(later, in: service, listener)
            line["reloaded"] = Self.settings
            if !rules.activated.isEmpty { line["changedApps"] = Self.list(rules.activated) }
            if !rules.superseded.isEmpty {
                line["level"] = "warning"
                line["supersededApps"] = Self.list(rules.superseded)
                line["warning"] =
                    "Later features, credits or transfer modes stay active. --former-features activate returns to former ones."
            }
            line["needsRestart"] = .array(plan.settingsThatNeedRestart(in: later).map { .string($0) })
        } catch {
            let reason =
                (error as? UsageError)?.sentence ?? (error is CancellationError ? "The server stops." : "\(error)")
            line["level"] = "error"
            line["failure"] = .string(reason)
        }
        Terminal.log(json: line)
    }

    private static func list(_ apps: [BundleID]) -> JSONValue { .array(apps.map { .string($0.rawValue) }) }
}
