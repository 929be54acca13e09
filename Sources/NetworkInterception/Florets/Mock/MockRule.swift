import HTTPCore

extension MockFloret {
    /// What a request is answered with: one answer after the other.
    ///
    ///     .init(.path("/v1/orders/*"), [Response(status: 202), Response(json: ["state": "done"])])
    public struct Rule: Sendable {
        public var name: String
        public var selector: RecordSelector
        /// Their bodies are bytes, so that each can be given again.
        public var answers: [Response]
        public var whenUsedUp: WhenUsedUp

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

    /// What follows the last answer of a sequence.
    public enum WhenUsedUp: String, Sendable, Hashable, CaseIterable {
        /// The last answer, again and again.
        case repeatLast = "repeat"
        /// The first one, and so on.
        case cycle
        /// Nothing: the request is looked for among the next rules, and then it has no mock.
        case fail

        /// The answer that is next after `used` answers of `count`.
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
