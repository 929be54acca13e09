import Foundation

/// Returns whether two errors are equal: by `==` if they are `Equatable`, otherwise by type, domain and code.
func areEqual(_ left: any Error, _ right: any Error) -> Bool {
    func equalsRight<Value: Equatable>(_ left: Value) -> Bool { right as? Value == left }
    // Casts to `Any` first, because the compiler assumes that a cast of the error itself always succeeds.
    if let left = left as Any as? any Equatable { return equalsRight(left) }
    let (one, other) = (left as NSError, right as NSError)
    return type(of: left) == type(of: right) && one.domain == other.domain && one.code == other.code
}
