import Foundation
import StoreModel

/// A request to a plugin and its outcome, for logs and troubleshooting. It has no effect on the client.
public struct PurchaseDiagnostic: Sendable {
    /// The client's method, such as `getPaidFeatures`, or `lastAnswers` for the storage of the last answers.
    public var operation: String
    /// The name of the plugin, or `nil` for an error of the storage.
    public var pluginName: String?
    /// The time of the request.
    public var askedAt: Date
    /// The source and date of the answer, or `nil` if there was none.
    public var origin: AnswerOrigin?
    /// The error of the plugin or of the storage.
    public var error: (any Error)?

    /// Creates a diagnostic.
    ///
    /// - Parameters:
    ///   - operation: The client's method.
    ///   - pluginName: The name of the plugin.
    ///   - askedAt: The time of the request.
    ///   - origin: The source and date of the answer.
    ///   - error: The error of the plugin or of the storage.
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

    /// The age of the answer at the time of the request, in seconds: 0 for a new answer, `nil` without an answer.
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
    /// Creates a log entry for a request to a plugin. The code of an error is in the message, its text in the private
    /// detail.
    ///
    /// - Parameter diagnostic: The request and its outcome.
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
