import Foundation

/// What became of one question of a `RemotePurchasePlugin`: from where the answer came and how old it was, or why there
/// was none. For diagnostics; it names nobody and contains no answer.
public struct RemoteAnswer: Sendable {
    /// What was asked; open, as a backend may be asked more one day.
    public struct Question: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public static let features = Question(rawValue: "features")
        public static let subscriptions = Question(rawValue: "subscriptions")
        public static let pricePoints = Question(rawValue: "pricePoints")
    }

    /// Where the answer came from; open.
    public struct Origin: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        /// The backend gave it just now.
        public static let server = Origin(rawValue: "server")
        /// The backend had given it before, and it was still fresh.
        public static let memory = Origin(rawValue: "memory")
    }

    /// The plugin that asked.
    public var pluginName: String
    public var question: Question
    /// `nil` when there was no answer.
    public var origin: Origin?
    /// The base URL that gave it.
    public var address: String?
    /// When it was given, by the plugin's clock.
    public var receivedAt: Date?
    /// How old it was when it was used, in seconds; 0 for one given just now.
    public var age: TimeInterval
    /// The rows of it that could not be read; the others were used.
    public var unreadableRows: [UnreadableRow]
    /// Why there was no answer.
    public var error: PurchaseError?

    public init(
        pluginName: String, question: Question, origin: Origin? = nil, address: String? = nil,
        receivedAt: Date? = nil, age: TimeInterval = 0, unreadableRows: [UnreadableRow] = [],
        error: PurchaseError? = nil
    ) {
        self.pluginName = pluginName
        self.question = question
        self.origin = origin
        self.address = address
        self.receivedAt = receivedAt
        self.age = age
        self.unreadableRows = unreadableRows
        self.error = error
    }
}

extension RemoteAnswer {
    /// In the words of the purchase client; `nil` when there was no answer.
    var answerOrigin: AnswerOrigin? {
        guard let origin, let receivedAt else { return nil }
        let source: AnswerOrigin.Source =
            switch origin {
            case .server: .network
            case .memory: .cache
            default: .init(rawValue: origin.rawValue)
            }
        return AnswerOrigin(source, asOf: receivedAt)
    }
}
