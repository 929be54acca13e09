import Foundation

/// A platform view inside a document. The hub passes the document, so that the same checks apply to native screens. The
/// view does not affect equality, and JSON does not contain it.
struct NativeView: Sendable, Hashable {
    var view: (any Sendable)?

    static func == (left: NativeView, right: NativeView) -> Bool { true }
    func hash(into hasher: inout Hasher) {}

    /// Returns a document with the view that `make` creates, as the answer to `viewQuery`. Throws `viewUnavailable` off
    /// the main actor. The hub calls a plugin on the thread of the sender, but views belong to the main actor.
    static func document(
        for viewQuery: Message, isOnMainActor: Bool = Thread.isMainThread, _ make: @MainActor () throws -> any Sendable
    ) throws -> ViewDocument {
        guard isOnMainActor else {
            throw PluginError(
                .viewUnavailable,
                "The screen of \"\(viewQuery.name)\" is a native view: send the view query on the main actor.",
                message: viewQuery.name)
        }
        var document = ViewDocument(title: viewQuery.name)
        document.native.view = try MainActor.assumeIsolated(make)
        return document
    }
}
