/// The current state of one floret for a list.
struct FloretRow: Hashable, Sendable {
    var name: String
    var summary: String?
    /// Whether the floret handles requests; `nil` if it cannot be disabled.
    var isEnabled: Bool?
    /// Whether the floret has a document to show.
    var hasDocument: Bool

    init(_ floret: any Floret, in interceptor: Interceptor) {
        name = floret.name
        summary = floret.summary
        isEnabled = (floret as? any InterceptableFloret)?.enabled
        hasDocument = (floret as? any DisplayableFloret)?.view(interceptor) != nil
    }
}
