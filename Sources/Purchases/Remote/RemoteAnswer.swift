import Foundation
import Primitives

/// What became of one question of a `RemotePurchasePlugin`: from where the answer came and how old it was, or why there
/// was none. For diagnostics; it names nobody and contains no answer.
public struct RemoteAnswer: Sendable {
    /// What was asked; open, as a backend may be asked more one day.
    public typealias Question = OpenEnum<RemoteAnswer>

    /// The plugin that asked.
    public var pluginName: String
    public var question: Question
    /// `network` or `cache`, and when the backend gave it, by the plugin's clock; `nil` when there was no answer.
    public var origin: AnswerOrigin?
    /// The base URL that gave it.
    public var address: String?
    /// How old it was when it was used, in seconds; 0 for one given just now.
    public var age: TimeInterval
    /// The rows of it that could not be read; the others were used.
    public var unreadableRows: [UnreadableRow]
    /// Why there was no answer.
    public var error: PurchaseError?

    public init(
        pluginName: String, question: Question, origin: AnswerOrigin? = nil, address: String? = nil,
        age: TimeInterval = 0, unreadableRows: [UnreadableRow] = [], error: PurchaseError? = nil
    ) {
        self.pluginName = pluginName
        self.question = question
        self.origin = origin
        self.address = address
        self.age = age
        self.unreadableRows = unreadableRows
        self.error = error
    }
}

extension RemoteAnswer.Question {
    public static var features: Self { Self(rawValue: "features") }
    public static var subscriptions: Self { Self(rawValue: "subscriptions") }
    public static var pricePoints: Self { Self(rawValue: "pricePoints") }
}
