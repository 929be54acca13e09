import PluginHub

/// The screen of a floret while it is shown: the document as it is now, and the user's actions, one after the other.
///
/// Whatever draws the document sets `onChange`, and calls `perform(_:)` for each action.
@MainActor final class FloretScreen {
    private let floret: any DisplayableFloret
    private let interceptor: Interceptor
    private var last: Task<Void, Never>?

    /// Called after each action. The sentence says why the action was refused; `nil` when it was not.
    var onChange: (_ refusal: String?) -> Void = { _ in }

    init(_ floret: any DisplayableFloret, in interceptor: Interceptor) {
        self.floret = floret
        self.interceptor = interceptor
    }

    deinit { last?.cancel() }

    var name: String { floret.name }
    var document: ViewDocument? { floret.view(interceptor) }

    /// Performs an action after those before it. The task ends when `onChange` has been called.
    @discardableResult
    func perform(_ action: ViewDocument.Action) -> Task<Void, Never> {
        let task = Task { [weak self, floret, interceptor, last] in
            await last?.value
            // An action that waited for another one does not outlive the screen.
            guard !Task.isCancelled, self != nil else { return }
            var refusal: String?
            do {
                try await floret.perform(action, in: interceptor)
            } catch is CancellationError {
                return
            } catch {
                refusal = Self.sentence(for: error)
            }
            self?.onChange(refusal)
        }
        last = task
        return task
    }

    /// Returns the sentence that a person reads about an action that failed.
    nonisolated static func sentence(for error: any Error) -> String { (error as? PluginError)?.sentence ?? "\(error)" }
}
