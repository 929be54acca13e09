extension Hub {
    public struct Configuration: Sendable {
        /// How many calls may nest, one in another on one thread, before the next is refused with `reentrancyLimit`.
        /// Events sent by a callback count as nested in it. At least 1.
        public var reentrancyLimit: Int
        /// The registered plugins are part of a larger set: a message nobody receives and an event nobody publishes are
        /// warnings instead of errors.
        public var isPartialSet: Bool
        /// The reading of a clock that never goes back; durations in the trace are differences of it.
        public var elapsed: @Sendable () -> Duration

        public init(
            reentrancyLimit: Int = 64, isPartialSet: Bool = false,
            elapsed: @escaping @Sendable () -> Duration = Self.monotonic
        ) {
            self.reentrancyLimit = max(1, reentrancyLimit)
            self.isPartialSet = isPartialSet
            self.elapsed = elapsed
        }

        /// The time since some instant before the first call, from the system's continuous clock.
        @Sendable public static func monotonic() -> Duration { origin.duration(to: .now) }

        private static let origin = ContinuousClock.now
    }
}
