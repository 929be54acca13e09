#if canImport(os)
    import Foundation
    import os

    /// A log that writes entries to Apple's unified log. The message is public. The detail is private: the system
    /// redacts it unless a debugger is attached.
    ///
    ///     log stream --level debug --predicate 'subsystem == "com.example.darkroom.souk"'
    public struct SystemLog: Sendable {
        /// The subsystem of all entries. The category comes from each ``LogEntry``.
        public let subsystem: String

        /// Creates a log.
        ///
        /// - Parameter subsystem: The subsystem. The default is the app's bundle identifier, followed by `.souk`.
        public init(subsystem: String? = nil) {
            self.subsystem =
                subsystem ?? "\(Bundle.main.bundleIdentifier ?? ProcessInfo.processInfo.processName).souk"
        }

        /// Writes an entry. A level that the unified log does not have is written as `notice`.
        ///
        /// - Parameter entry: The entry to write.
        public func write(_ entry: LogEntry) {
            let logger = Logger(subsystem: subsystem, category: entry.category)
            let (message, detail) = (entry.message, entry.detail ?? "")
            logger.log(level: Self.type(of: entry.level), "\(message, privacy: .public) \(detail, privacy: .private)")
        }

        private static func type(of level: LogEntry.Level) -> OSLogType {
            switch level {
            case .debug: .debug
            case .info: .info
            case .error: .error
            case .fault: .fault
            default: .default
            }
        }
    }
#endif
