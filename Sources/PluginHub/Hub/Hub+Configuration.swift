import Foundation

extension Hub {
    /// What a hub can be told; the defaults are for apps.
    public struct Configuration: Sendable {
        /// How many calls may nest, one in another on one thread, before the next is refused with `reentrancyLimit`.
        /// Events sent by a callback count as nested in it. At least 1.
        public var reentrancyLimit: Int
        /// The registered plugins are part of a larger set: a message nobody receives and an event nobody publishes are
        /// warnings instead of errors.
        public var isPartialSet: Bool
        /// How long a query or view query may take before the trace says that it was slow: it must only read what is
        /// known. By default 16 ms, a frame of a screen.
        public var queryBudget: Duration
        /// Whether there is a file at a path that may be read: asked about the `configurationFiles` of a plugin whose
        /// initialiser threw, to say whether that is why.
        public var isReadableFile: @Sendable (String) -> Bool
        /// The reading of a clock that never goes back; durations in the trace are differences of it.
        public var elapsed: @Sendable () -> Duration

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

        /// Whether the file system has a file, not a directory, at `path` that this process may read.
        @Sendable public static func isReadableFile(at path: String) -> Bool {
            var isDirectory: ObjCBool = false
            let files = FileManager.default
            return files.fileExists(atPath: path, isDirectory: &isDirectory) && !isDirectory.boolValue
                && files.isReadableFile(atPath: path)
        }

        /// The time since some instant before the first call, from the system's continuous clock.
        @Sendable public static func monotonic() -> Duration { origin.duration(to: .now) }

        private static let origin = ContinuousClock.now
    }
}
