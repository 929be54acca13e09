/// The result of an operation that exactly one plugin handles.
public enum PurchasePluginResult<Success: Sendable, Failure: Error>: Sendable {
    /// The operation is complete.
    case success(Success)
    /// The operation failed. The caller gets the error; only for `presentCodeRedemptionUI`, the next plugin is called.
    case failure(Failure)
    /// The plugin does not handle the operation. The client calls the next plugin.
    case notSupported
}

extension PurchasePluginResult {
    /// Creates a success or failure from a `Result`.
    ///
    /// - Parameter result: The result.
    public init(result: Result<Success, Failure>) {
        self =
            switch result {
            case .success(let value): .success(value)
            case .failure(let error): .failure(error)
            }
    }

    /// The result, or `nil` for `.notSupported`.
    public var result: Result<Success, Failure>? {
        switch self {
        case .success(let value): .success(value)
        case .failure(let error): .failure(error)
        case .notSupported: nil
        }
    }
}

extension PurchasePluginResult where Failure == any Error {
    /// Creates `.success` with the value of a function, or `.failure` with its error.
    ///
    /// - Parameter body: The function.
    public init(catching body: () async throws -> Success) async {
        do {
            self = .success(try await body())
        } catch {
            self = .failure(error)
        }
    }
}
