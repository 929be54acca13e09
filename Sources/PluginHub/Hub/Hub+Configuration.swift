import Foundation

extension Hub {
    /// The settings of a hub. The defaults suit apps.
    public struct Configuration: Sendable {
        /// The number of calls that can be nested on one thread. The hub refuses the next one with `reentrancyLimit`.
        /// Events that a callback sends count as nested in that callback. At least 1.
        public var reentrancyLimit: Int
        /// Whether the registered plugins are part of a larger set. Then a message without a receiver, or an event
        /// without a publisher, is a warning instead of an error.
        public var isPartialSet: Bool
        /// The duration after which the trace marks a query or view query as slow. Queries should only read known data.
        /// The default is 16 ms, one frame of a screen.
        public var queryBudget: Duration
        /// Returns whether a path is a readable file. If the initialiser of a plugin throws, the hub checks the
        /// plugin's `configurationFiles` with it to find the reason.
        public var isReadableFile: @Sendable (String) -> Bool
        /// Returns the reading of a clock that never goes back. Durations in the trace are differences of two readings.
        public var elapsed: @Sendable () -> Duration

        /// Creates a configuration.
        ///
        /// - Parameters:
        ///   - reentrancyLimit: The number of calls that can be nested on one thread.
        ///   - isPartialSet: Whether the registered plugins are part of a larger set.
        ///   - queryBudget: The duration after which the trace marks a query as slow.
        ///   - isReadableFile: A function that returns whether a path is a readable file.
        ///   - elapsed: A function that returns the reading of a clock that never goes back.
        public init(
            reentrancyLimit: Int = 64, isPartialSet: Bool = false, queryBudget: Duration = .milliseconds(16),
            isReadableFile: @escaping @Sendable (String) -> Bool = Self.isReadableFile(at:),
            elapsed: @escaping @Sendable () -> Duration = Self.monotonic
        ) {
            self.reentrancyLimit = max(1, reentrancyLimit)
            self.isPartialSet = isPartialSet
            self.queryBudget = queryBudget
            self.isReadableFile = isReadableFile
            self.elapsed = elapsed
        }

        /// Returns whether a path is a file, not a directory, that this process can read.
        ///
        /// - Parameter path: The path.
        /// - Returns: Whether the file can be read.
        @Sendable public static func isReadableFile(at path: String) -> Bool {
            var isDirectory: ObjCBool = false
            let files = FileManager.default
            return files.fileExists(atPath: path, isDirectory: &isDirectory) && !isDirectory.boolValue
                && files.isReadableFile(atPath: path)
        }

        /// Returns the time since an instant before the first call, from the continuous clock of the system.
        @Sendable public static func monotonic() -> Duration { origin.duration(to: .now) }

        private static let origin = ContinuousClock.now
    }
}
