/// A plugin's answer to an operation that belongs to exactly one plugin.
public enum PurchasePluginResult<Success: Sendable, Failure: Error>: Sendable {
    /// Operation completed.
    case success(Success)
    /// The plugin handled the input, and it failed: the failure goes to the caller.
    case failure(Failure)
    /// The input is not this plugin's: control goes to the next one.
    case notSupported
}

extension PurchasePluginResult {
    public init(result: Result<Success, Failure>) {
        self =
            switch result {
            case .success(let value): .success(value)
            case .failure(let error): .failure(error)
            }
    }

    /// `nil` for `.notSupported`.
    public var result: Result<Success, Failure>? {
        switch self {
        case .success(let value): .success(value)
        case .failure(let error): .failure(error)
        case .notSupported: nil
        }
    }
}

extension PurchasePluginResult where Failure == any Error {
    /// `.success` with what `body` returns, `.failure` with what it throws.
    public init(catching body: () async throws -> Success) async {
        do {
            self = .success(try await body())
        } catch {
            self = .failure(error)
        }
    }
}
