/// https://developer.apple.com/documentation/swiftui/view
@MainActor @preconcurrency public protocol View {
    associatedtype Body: View
    // …/view/body-swift.property
    @ViewBuilder @MainActor @preconcurrency var body: Self.Body { get }
}

/// https://developer.apple.com/documentation/swiftui/view/body-8kl5o
extension Never: View {
    public var body: Never { declared() }
}

/// https://developer.apple.com/documentation/swift/optional
extension Optional: View where Wrapped: View {
    public var body: Never { declared() }
}

/// https://developer.apple.com/documentation/swiftui/viewbuilder
@resultBuilder public struct ViewBuilder {
    public static func buildBlock() -> EmptyView { declared() }
    public static func buildExpression<Content: View>(_ content: Content) -> Content { declared() }
    public static func buildBlock<Content: View>(_ content: Content) -> Content { declared() }
    public static func buildBlock<each Content: View>(
        _ content: repeat each Content
    ) -> TupleView<(repeat each Content)> { declared() }
    public static func buildIf<Content: View>(_ content: Content?) -> Content? { declared() }
    public static func buildEither<First: View, Second: View>(first: First) -> _ConditionalContent<First, Second> {
        declared()
    }
    public static func buildEither<First: View, Second: View>(second: Second) -> _ConditionalContent<First, Second> {
        declared()
    }
}

/// https://developer.apple.com/documentation/swiftui/_conditionalcontent
@MainActor @preconcurrency public struct _ConditionalContent<TrueContent: View, FalseContent: View>: View {
    public var body: Never { declared() }
}

/// https://developer.apple.com/documentation/swiftui/tupleview
@MainActor @preconcurrency public struct TupleView<T>: View {
    public var body: Never { declared() }
}

/// https://developer.apple.com/documentation/swiftui/emptyview
@MainActor @preconcurrency public struct EmptyView: View {
    nonisolated public init() { declared() }
    public var body: Never { declared() }
}

/// https://developer.apple.com/documentation/swiftui/anyview
@MainActor @preconcurrency public struct AnyView: View {
    nonisolated public init<V: View>(_ view: V) { declared() }
    public var body: Never { declared() }
}

nonisolated func declared() -> Never { preconditionFailure("This module is for the type checker alone.") }
