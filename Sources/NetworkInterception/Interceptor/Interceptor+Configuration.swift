import Foundation
import HTTPCore
import Primitives

extension Interceptor {
    /// The settings of an interceptor. The clock and the wait function are settings, so that tests need not wait.
    public struct Configuration: Sendable {
        /// Selects the requests that are handled.
        public var recordSelector = RecordSelector.all()
        /// The storage of the records. With `nil`, a ring buffer in memory holds 1 000 records and 64 MiB.
        public var storage: (any RecordStorage)?
        /// The rules that remove secrets from a record before it is stored.
        public var redaction = Redaction.standard
        /// Changes a record before it is redacted and stored, for secrets that no rule of `redaction` describes. It
        /// receives the unredacted record each time the record is stored, and returns a record with the same id.
        public var preStorageRecordModifier: (@Sendable (Record) -> Record)?
        /// The number of bytes of each body that are recorded. Bodies of any length are transferred.
        public var maximumRecordedBytes = 1 << 20
        /// The total number of body bytes that all active exchanges hold for their records. Beyond it, bodies are
        /// transferred as usual and recorded as cut. Stored bytes count towards the capacity of the storage instead.
        public var maximumHeldBytes = 64 << 20
        /// The longest time that a `CompletionHandlerFloret` may take to call each completion handler.
        public var floretDeadline: Duration = .seconds(10)
        /// The clock for `Record.Timing`.
        public var clock: any WallClock = SystemClock()
        /// Returns after the duration, or throws when its task is cancelled.
        public var wait: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
        /// Receives each report immediately, on any thread.
        public var onReport: @Sendable (InterceptionReport) -> Void = { _ in }

        /// Creates the standard settings.
        public init() {}

        /// The standard settings.
        public static var standard: Configuration { Configuration() }
    }
}
