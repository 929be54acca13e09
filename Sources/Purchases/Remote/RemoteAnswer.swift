import Foundation
import Primitives

/// The outcome of a request of a `RemotePurchasePlugin`, for diagnostics: the origin and age of the answer, or the
/// error. It contains neither the user nor the content of the answer.
public struct RemoteAnswer: Sendable {
    /// The kind of request. The set is open.
    public typealias Question = OpenEnum<RemoteAnswer>

    /// The name of the plugin.
    public var pluginName: String
    /// The kind of request.
    public var question: Question
    /// The source, `network` or `cache`, and the date of the answer by the plugin's clock; `nil` when there was no
    /// answer.
    public var origin: AnswerOrigin?
    /// The base URL that answered; `nil` when there was no answer.
    public var address: String?
    /// The age of the answer at the time of its use, in seconds; 0 for a new answer and without an answer.
    public var age: TimeInterval
    /// The rows that could not be read. The other rows were used.
    public var unreadableRows: [UnreadableRow]
    /// The error when there was no answer.
    public var error: PurchaseError?

    /// Creates an outcome.
    ///
    /// - Parameters:
    ///   - pluginName: The name of the plugin.
    ///   - question: The kind of request.
    ///   - origin: The source and date of the answer.
    ///   - address: The base URL that answered.
    ///   - age: The age of the answer, in seconds.
    ///   - unreadableRows: The rows that could not be read.
    ///   - error: The error when there was no answer.
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
    /// The features that a user may use.
    public static var features: Self { Self(rawValue: "features") }
    /// The subscriptions of a user.
    public static var subscriptions: Self { Self(rawValue: "subscriptions") }
    /// The price points of the web shop.
    public static var pricePoints: Self { Self(rawValue: "pricePoints") }
}
