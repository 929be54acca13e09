extension Hub {
    /// What became of the registrations.
    public struct Report: Sendable {
        /// In the order found. An error kept its plugin from running; a warning did not. What is said of a refused plugin
        /// stays until one of its name, or of the type that could not be made, runs or leaves.
        public let findings: [Finding]
        /// The names of the plugins that run, in the order registered.
        public let running: [String]

        public init(findings: [Finding], running: [String]) {
            self.findings = findings
            self.running = running
        }

        public var hasErrors: Bool { findings.contains { $0.severity == .error } }
    }

    /// One thing that is wrong with a plugin or between plugins.
    ///
    /// Errors: `initializationFailed`, `unreadableConfiguration`, `invalidPolicy`, `duplicatePlugin`,
    /// `ambiguousReceiver`, `noReceiver` (also for an event nobody publishes). Warnings: `noReceiver` in a partial set or
    /// once the partner is gone, `nobodyListens`, `unsupportedMessage` for `requests`, and the code of what a publisher
    /// threw at launch.
    public struct Finding: Sendable, Codable, Equatable {
        public enum Severity: String, Sendable, Codable { case error, warning }

        public let severity: Severity
        public let code: PluginError.Code
        /// The plugin it is about; for one that could not be made, the name of its type if that is known.
        public let plugin: String?
        /// The name of the message it is about.
        public let message: String?
        /// The field of the plugin's policy it is about, such as `name` or `send.commands`.
        public let field: String?
        public let sentence: String

        public init(
            severity: Severity, code: PluginError.Code, plugin: String? = nil, message: String? = nil,
            field: String? = nil, sentence: String
        ) {
            self.severity = severity
            self.code = code
            self.plugin = plugin
            self.message = message
            self.field = field
            self.sentence = sentence
        }
    }
}

extension Hub.Finding: CustomStringConvertible {
    public var description: String { "\(severity.rawValue): \(sentence)" }
}
