extension Hub {
    /// The result of the registrations.
    public struct Report: Sendable {
        /// The problems of refused plugins, then the warnings about running plugins, then missing receivers, publishers
        /// and subscribers.
        ///
        /// A plugin with an error does not run; a plugin with warnings does. The hub removes a finding about a refused
        /// plugin when a plugin with that name starts or leaves, or when a plugin of the type that could not be created
        /// starts.
        public let findings: [Finding]
        /// The names of the running plugins, in the order of registration.
        public let running: [String]

        /// Creates a report.
        ///
        /// - Parameters:
        ///   - findings: The problems.
        ///   - running: The names of the running plugins.
        public init(findings: [Finding], running: [String]) {
            self.findings = findings
            self.running = running
        }

        /// Whether a finding is an error.
        public var hasErrors: Bool { findings.contains { $0.severity == .error } }
    }

    /// A problem of a plugin or between plugins.
    ///
    /// These codes are errors: `initializationFailed`, `unreadableConfiguration`, `invalidPolicy`, `duplicatePlugin`,
    /// `ambiguousReceiver`, and `noReceiver`, also for an event without a publisher.
    ///
    /// These are warnings: `noReceiver` in a partial set, or when a plugin did not start or was removed,
    /// `nobodyListens`, `unsupportedMessage` for `requests`, and the code of an error that a publisher threw at launch.
    public struct Finding: Sendable, Codable, Equatable {
        /// The severity of a finding.
        public enum Severity: String, Sendable, Codable { case error, warning }

        /// The severity.
        public let severity: Severity
        /// The kind of problem.
        public let code: PluginError.Code
        /// The name of the plugin. For a plugin that could not be created, the name of its type if it is known.
        public let plugin: String?
        /// The name of the message.
        public let message: String?
        /// The field of the plugin's policy, such as `name` or `send.commands`.
        public let field: String?
        /// A sentence that says what is wrong and what to do.
        public let sentence: String

        /// Creates a finding.
        ///
        /// - Parameters:
        ///   - severity: The severity.
        ///   - code: The kind of problem.
        ///   - plugin: The name of the plugin.
        ///   - message: The name of the message.
        ///   - field: The field of the plugin's policy.
        ///   - sentence: A sentence that says what is wrong and what to do.
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
    /// The severity and the sentence.
    public var description: String { "\(severity.rawValue): \(sentence)" }
}
