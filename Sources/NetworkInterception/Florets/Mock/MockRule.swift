import HTTPCore

extension MockFloret {
    /// Answers to the requests that a selector selects, used in order.
    ///
    ///     .init(.path("/v1/orders/*"), [Response(status: 202), Response(json: ["state": "done"])])
    public struct Rule: Sendable {
        /// The name on the screen.
        public var name: String
        /// Selects the requests.
        public var selector: RecordSelector
        /// The responses. Their bodies must be bytes, so that each can be used again.
        public var answers: [Response]
        /// The behaviour after the last answer.
        public var whenUsedUp: WhenUsedUp

        /// Creates a rule.
        ///
        /// - Parameters:
        ///   - selector: Selects the requests.
        ///   - answers: The responses, whose bodies must be bytes.
        ///   - whenUsedUp: The behaviour after the last answer.
        ///   - name: The name on the screen.
        public init(
            _ selector: RecordSelector, _ answers: [Response], whenUsedUp: WhenUsedUp = .repeatLast,
            name: String = "Rule"
        ) {
            self.name = name
            self.selector = selector
            self.answers = answers
            self.whenUsedUp = whenUsedUp
        }
    }

    /// The behaviour after the last answer of a sequence.
    public enum WhenUsedUp: String, Sendable, Hashable, CaseIterable {
        /// The last answer is repeated.
        case repeatLast = "repeat"
        /// The sequence starts again.
        case cycle
        /// There is no further answer. After a rule that is used up, the next rules are matched.
        case fail

        /// The index of the next answer after `used` answers of `count`, or `nil` if there is none.
        func index(after used: Int, of count: Int) -> Int? {
            guard used >= count else { return used }
            guard count > 0 else { return nil }
            return switch self {
            case .repeatLast: count - 1
            case .cycle: used % count
            case .fail: nil
            }
        }
    }
}
