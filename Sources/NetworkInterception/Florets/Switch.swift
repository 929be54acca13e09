import Primitives

/// A Boolean that any thread may read and set.
final class Switch: Sendable {
    private let state: Locked<Bool>

    init(_ isOn: Bool) { state = Locked(isOn) }

    var isOn: Bool {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
}
