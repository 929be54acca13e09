import Foundation

/// Whether two errors are the same: by their own equality where they have one, else by type, domain and code.
func areEqual(_ left: any Error, _ right: any Error) -> Bool {
    func isRight<Value: Equatable>(_ left: Value) -> Bool { right as? Value == left }
    // As `Any`: of an error itself the compiler takes the cast for one that always succeeds.
    if let left = left as Any as? any Equatable { return isRight(left) }
    let (one, other) = (left as NSError, right as NSError)
    return type(of: left) == type(of: right) && one.domain == other.domain && one.code == other.code
}
