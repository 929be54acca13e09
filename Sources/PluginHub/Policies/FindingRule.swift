/// The one table of what a registration can find, and how bad it is. The guide shows it to plugin authors.
enum FindingRule: CaseIterable {
    case cannotBeMade
    case unreadableConfiguration
    case invalidPolicy
    case duplicatePlugin
    case twoReceivers
    case noReceiver
    case noPublisher
    case nobodyListens
    case requests
    case launchRefused

    /// `nil` for the code of whatever the plugin threw.
    var code: PluginError.Code? {
        switch self {
        case .cannotBeMade: .initializationFailed
        case .unreadableConfiguration: .unreadableConfiguration
        case .invalidPolicy: .invalidPolicy
        case .duplicatePlugin: .duplicatePlugin
        case .twoReceivers: .ambiguousReceiver
        case .noReceiver, .noPublisher: .noReceiver
        case .nobodyListens: .nobodyListens
        case .requests: .unsupportedMessage
        case .launchRefused: nil
        }
    }

    /// In a whole set of plugins, all of which could be made.
    var severity: Hub.Finding.Severity {
        switch self {
        case .cannotBeMade, .unreadableConfiguration, .invalidPolicy, .duplicatePlugin, .twoReceivers, .noReceiver,
            .noPublisher:
            .error
        case .nobodyListens, .requests, .launchRefused: .warning
        }
    }

    /// In a partial set, where what is missing may be elsewhere; `nil` for what is then not reported at all.
    var partialSeverity: Hub.Finding.Severity? {
        switch self {
        case .noReceiver, .noPublisher: .warning
        case .nobodyListens: nil
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
