import Foundation

/// A view of the platform's own kind that travels with a document through the hub, so that it passes the same checks.
/// It is no part of the document's value: documents with and without are equal, and JSON does not have it.
struct NativeView: Sendable, Hashable {
    var view: (any Sendable)?

    static func == (left: NativeView, right: NativeView) -> Bool { true }
    func hash(into hasher: inout Hasher) {}

    /// The document that brings what `make` makes as the answer to `viewQuery`. Views belong to the main actor, and the
    /// hub calls where the sender called: elsewhere there is no view to give.
    static func document(
        for viewQuery: Message, isOnMainActor: Bool = Thread.isMainThread, _ make: @MainActor () throws -> any Sendable
    ) throws -> ViewDocument {
        guard isOnMainActor else {
            throw PluginError(
                .viewUnavailable,
                "The answer to \"\(viewQuery.name)\" is drawn by its plugin: ask for it on the main actor.",
                message: viewQuery.name)
        }
        var document = ViewDocument(title: viewQuery.name)
        document.native.view = try MainActor.assumeIsolated(make)
        return document
    }
}
