/// One floret in a list of them, as it is now.
struct FloretRow: Hashable, Sendable {
    var name: String
    var summary: String?
    /// Whether it takes part in requests; `nil` for a floret that cannot be switched.
    var isEnabled: Bool?
    /// Whether it has a document to show.
    var hasDocument: Bool

    init(_ floret: any Floret, in interceptor: Interceptor) {
        name = floret.name
        summary = floret.summary
        isEnabled = (floret as? any InterceptableFloret)?.enabled
        hasDocument = (floret as? any DisplayableFloret)?.view(interceptor) != nil
    }
}
