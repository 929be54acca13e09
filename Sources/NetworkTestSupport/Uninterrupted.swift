import Foundation

/// Repeats a system call that a signal has interrupted, and returns what the call returns.
///
/// A call on a socket that has a time limit is interrupted even when a debugger attaches, or when the machine stops the
/// process for a while.
package func uninterrupted(_ call: () -> Int) -> Int {
    while true {
        let result = call()
        if result >= 0 || errno != EINTR { return result }
    }
}
