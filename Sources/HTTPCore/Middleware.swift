/// A step around a handler: it may change the request, answer itself, or change the answer of `next`.
///
/// The reply is returned, so a step can neither lose nor duplicate it; a step that does not call `next` decides.
public protocol Middleware: Sendable {
    func respond(to request: HTTPRequest, next: @escaping @Sendable (HTTPRequest) -> HTTPReply) -> HTTPReply
}

/// A handler with steps around it, the first outermost. The chain is put together once, not per request.
///
///     MiddlewareChain([RequestIDs(), APIKeys(keys)], around: router)
public struct MiddlewareChain: HTTPHandler {
    private let first: @Sendable (HTTPRequest) -> HTTPReply

    public init(_ steps: [any Middleware], around handler: any HTTPHandler) {
        var next: @Sendable (HTTPRequest) -> HTTPReply = { handler.respond(to: $0) }
        for step in steps.reversed() {
            let inner = next
            next = { step.respond(to: $0, next: inner) }
        }
        first = next
    }

    public func respond(to request: HTTPRequest) -> HTTPReply { first(request) }
}
