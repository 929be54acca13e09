import Foundation

/// Repeats a system call that a signal has interrupted, and returns what the call returns.
///
/// A call on a socket with a time limit is also interrupted when a debugger attaches or the machine suspends the
/// process.
package func uninterrupted(_ call: () -> Int) -> Int {
    while true {
        let result = call()
        if result >= 0 || errno != EINTR { return result }
    }
}
