import Foundation
import StoreModel

/// One question to one plugin, and what became of it: for logs and for whoever looks for a fault. Nothing hangs on it.
public struct PurchaseDiagnostic: Sendable {
    /// The client's method, such as `getPaidFeatures`; `lastAnswers` for the storage of what was said last.
    public var operation: String
    /// `nil` when no plugin was meant.
    public var pluginName: String?
    public var askedAt: Date
    /// Where the answer came from and of when it is; `nil` when there was none.
    public var origin: AnswerOrigin?
    /// Why the plugin did not answer, or what the storage could not do.
    public var error: (any Error)?

    public init(
        operation: String, pluginName: String? = nil, askedAt: Date, origin: AnswerOrigin? = nil,
        error: (any Error)? = nil
    ) {
        self.operation = operation
        self.pluginName = pluginName
        self.askedAt = askedAt
        self.origin = origin
        self.error = error
    }

    /// How old the answer was when it was used, in seconds.
    public var age: TimeInterval? { origin.map { max(0, askedAt.timeIntervalSince($0.asOf)) } }

    init(_ operation: PurchaseOperation, _ report: PluginReport, askedAt: Date) {
        self.init(
            operation: operation.name, pluginName: report.pluginName, askedAt: askedAt, origin: report.origin,
            error: report.error)
    }

    static func ofStorage(_ error: any Error, at date: Date) -> PurchaseDiagnostic {
        PurchaseDiagnostic(operation: "lastAnswers", askedAt: date, error: error)
    }
}

extension LogEntry {
    /// A question to a plugin as a line of a log. What an error says is the detail, its code is not.
    public init(_ diagnostic: PurchaseDiagnostic) {
        var message = diagnostic.operation
        if let plugin = diagnostic.pluginName { message += ", \(plugin)" }
        if let origin = diagnostic.origin { message += ", from \(origin.source.rawValue)" }
        if let age = diagnostic.age.flatMap({ Int64(exactly: $0.rounded()) }) { message += ", \(age) s old" }
        guard let error = diagnostic.error else {
            self.init(.debug, category: "Purchases", message)
            return
        }
        message += ": \((error as? PurchaseError)?.code.rawValue ?? "\(type(of: error))")"
        self.init(.error, category: "Purchases", message, detail: "\(error)")
    }
}
