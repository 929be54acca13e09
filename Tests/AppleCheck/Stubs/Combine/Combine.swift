/// https://developer.apple.com/documentation/combine/publisher
public protocol Publisher<Output, Failure> {
    associatedtype Output
    associatedtype Failure: Error
    func receive<S: Subscriber>(subscriber: S) where Failure == S.Failure, Output == S.Input
}

/// https://developer.apple.com/documentation/combine/publisher/sink(receivecompletion:receivevalue:)
extension Publisher {
    public func sink(
        receiveCompletion: @escaping (Subscribers.Completion<Failure>) -> Void,
        receiveValue: @escaping (Output) -> Void
    ) -> AnyCancellable { declared() }
}

/// https://developer.apple.com/documentation/combine/anypublisher
public struct AnyPublisher<Output, Failure: Error>: Publisher {
    public init<P: Publisher>(_ publisher: P) where Output == P.Output, Failure == P.Failure { declared() }
    public func receive<S: Subscriber>(subscriber: S) where Output == S.Input, Failure == S.Failure { declared() }
}

/// https://developer.apple.com/documentation/combine/subscriber
public protocol Subscriber<Input, Failure>: CustomCombineIdentifierConvertible {
    associatedtype Input
    associatedtype Failure: Error
    func receive(subscription: any Subscription)
    func receive(_ input: Input) -> Subscribers.Demand
    func receive(completion: Subscribers.Completion<Failure>)
}

/// https://developer.apple.com/documentation/combine/subscribers
public enum Subscribers {
    /// …/subscribers/completion
    public enum Completion<Failure: Error> {
        case finished
        case failure(Failure)
    }

    /// …/subscribers/demand
    public struct Demand: Equatable, Hashable, Sendable {
        public var max: Int? { declared() }
    }
}

/// https://developer.apple.com/documentation/combine/subscription
public protocol Subscription: Cancellable, CustomCombineIdentifierConvertible {
    func request(_ demand: Subscribers.Demand)
}

/// https://developer.apple.com/documentation/combine/cancellable
public protocol Cancellable {
    func cancel()
}

/// https://developer.apple.com/documentation/combine/anycancellable
public final class AnyCancellable: Cancellable {
    public func cancel() { declared() }
}

/// https://developer.apple.com/documentation/combine/customcombineidentifierconvertible
public protocol CustomCombineIdentifierConvertible {
    var combineIdentifier: CombineIdentifier { get }
}

/// https://developer.apple.com/documentation/combine/customcombineidentifierconvertible/combineidentifier-2mohz
extension CustomCombineIdentifierConvertible where Self: AnyObject {
    public var combineIdentifier: CombineIdentifier { declared() }
}

/// https://developer.apple.com/documentation/combine/combineidentifier
public struct CombineIdentifier: Hashable, Sendable {}

func declared() -> Never { preconditionFailure("This module is for the type checker alone.") }
