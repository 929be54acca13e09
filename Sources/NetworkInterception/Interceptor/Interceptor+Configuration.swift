import Foundation
import HTTPCore
import Primitives

extension Interceptor {
    /// What an interceptor is made with. Time and patience are inputs, so that a test need not wait.
    public struct Configuration: Sendable {
        /// Which requests are handled.
        public var recordSelector = RecordSelector.all()
        /// Where records are kept; `nil` is a ring in memory of 1 000 records and 64 MiB.
        public var storage: (any RecordStorage)?
        /// What is taken out of a record before it is stored.
        public var redaction = Redaction.standard
        /// Changes a record before it is redacted and stored, for secrets that no rule of `redaction` describes. It sees the
        /// record as it is, each time it is stored; what it gives back has the same id.
        public var preStorageRecordModifier: (@Sendable (Record) -> Record)?
        /// The first bytes of each body that are recorded. Bodies of any length pass.
        public var maximumRecordedBytes = 1 << 20
        /// Bytes of bodies that all exchanges under way together hold for their records. Beyond it bodies pass as ever, and
        /// are recorded as cut. What is stored counts against the storage's own capacity.
        public var maximumHeldBytes = 64 << 20
        /// How long a floret with completion handlers may take for each.
        public var floretDeadline: Duration = .seconds(10)
        /// What time it is, for `Record.Timing`.
        public var clock: any WallClock = SystemClock()
        /// Returns after that long, or throws when its task is cancelled.
        public var wait: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
        /// Is told each report at once, on any thread.
        public var onReport: @Sendable (InterceptionReport) -> Void = { _ in }

        public init() {}

        public static var standard: Configuration { Configuration() }
    }
}
