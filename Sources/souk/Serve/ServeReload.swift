import EntitlementServer
import Foundation
import HTTPListener
import Primitives

/// Reads the settings of a running server again after SIGHUP, and changes the certificate, the keys and the log. If one
/// of the settings is wrong, nothing changes.
struct ServeReload: Sendable {
    let typed: Arguments
    let plan: ServePlan
    let listener: ServiceListener
    let service: EntitlementService
    let manager: ServiceManager

    func run() {
        manager.send(.reloading)
        defer { manager.send(.ready) }
        var line: JSONValue = ["time": .string(RFC3339.string(from: Date())), "level": "info", "requestID": "reload"]
        do {
            let later = try ServePlan(
                typed, environment: ProcessInfo.processInfo.environment, socket: plan.socket)
            try plan.adopt(later, in: service) { try listener.replaceCertificate($0) }
            line["reloaded"] = ["tlsCertificate", "signingKey", "appStoreKey", "log"]
            line["needsRestart"] = .array(plan.settingsThatNeedRestart(in: later).map { .string($0) })
        } catch {
            let reason = (error as? UsageError)?.sentence ?? "\(error)"
            line["level"] = "error"
            line["failure"] = .string(reason)
        }
        Terminal.log(json: line)
    }
}
