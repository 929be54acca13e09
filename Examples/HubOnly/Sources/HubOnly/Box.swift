import Foundation

/// Holds the answer until the sender reads it.
final class Box: @unchecked Sendable {  // the lock guards the only field
    private let lock = NSLock()
    private var text: String?

    func set(_ value: String?) { lock.withLock { text = value } }
    func get() -> String? { lock.withLock { text } }
}
