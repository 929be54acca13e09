import PluginHub

/// The visible screen of a floret: its current document, and the user's actions, one after another.
///
/// The view that draws the document sets `onChange` and calls `perform(_:)` for each action.
@MainActor final class FloretScreen {
    private let floret: any DisplayableFloret
    private let interceptor: Interceptor
    private var last: Task<Void, Never>?

    /// Called after each action that was not cancelled, with the reason if the action failed.
    var onChange: (_ refusal: String?) -> Void = { _ in }

    init(_ floret: any DisplayableFloret, in interceptor: Interceptor) {
        self.floret = floret
        self.interceptor = interceptor
    }

    deinit { last?.cancel() }

    var name: String { floret.name }
    var document: ViewDocument? { floret.view(interceptor) }

    /// Performs an action after the earlier ones. The task ends after the call of `onChange`. A waiting action is not
    /// performed after the screen is released.
    @discardableResult
    func perform(_ action: ViewDocument.Action) -> Task<Void, Never> {
        let task = Task { [weak self, floret, interceptor, last] in
            await last?.value
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

    /// Returns the sentence about a failed action for the user.
    nonisolated static func sentence(for error: any Error) -> String { (error as? PluginError)?.sentence ?? "\(error)" }
}
