/// The problems that a registration can have, and their severities. Documentation/Guides/WritingAPolicy.md has this
/// table for plugin authors.
enum FindingRule: CaseIterable {
    case creationFailed
    case unreadableConfiguration
    case invalidPolicy
    case duplicatePlugin
    case twoReceivers
    case noReceiver
    case noPublisher
    case noSubscriber
    case requests
    case launchRefused

    /// The code of the finding; `nil` for the code of the plugin's own error.
    var code: PluginError.Code? {
        switch self {
        case .creationFailed: .initializationFailed
        case .unreadableConfiguration: .unreadableConfiguration
        case .invalidPolicy: .invalidPolicy
        case .duplicatePlugin: .duplicatePlugin
        case .twoReceivers: .ambiguousReceiver
        case .noReceiver, .noPublisher: .noReceiver
        case .noSubscriber: .nobodyListens
        case .requests: .unsupportedMessage
        case .launchRefused: nil
        }
    }

    /// The severity in a complete set of plugins, all of which could be created.
    var severity: Hub.Finding.Severity {
        switch self {
        case .creationFailed, .unreadableConfiguration, .invalidPolicy, .duplicatePlugin, .twoReceivers, .noReceiver,
            .noPublisher:
            .error
        case .noSubscriber, .requests, .launchRefused: .warning
        }
    }

    /// The severity in a partial set, where receivers and publishers can be elsewhere; `nil` for a problem that is not
    /// reported then.
    var partialSeverity: Hub.Finding.Severity? {
        switch self {
        case .noReceiver, .noPublisher: .warning
        case .noSubscriber: nil
        default: severity
        }
    }

    func finding(
        _ severity: Hub.Finding.Severity? = nil, code: PluginError.Code? = nil, plugin: String?,
        message: String? = nil, field: String? = nil, _ sentence: String
    ) -> Hub.Finding {
        Hub.Finding(
            severity: severity ?? self.severity, code: code ?? self.code ?? .handlerFailed, plugin: plugin,
            message: message, field: field, sentence: sentence)
    }
}
