import Foundation

/// Holds the answer until the sender reads it.
final class Box: @unchecked Sendable {  // the lock guards the only field
    private let lock = NSLock()
    private var text: String?

    func put(_ value: String?) { lock.withLock { text = value } }
    func take() -> String? { lock.withLock { text } }
}
