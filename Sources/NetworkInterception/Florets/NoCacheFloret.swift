import HTTPCore
import Primitives

/// Prevents caching: requests are unconditional and bypass caches, and responses are marked with `Cache-Control:
/// no-cache`.
///
/// Removes `If-Modified-Since` and `If-None-Match` from requests, so that a server has no reason to respond with 304.
/// If a server does so anyway, the request fails with `HTTPError.protocolError`, because the app has no copy that a 304
/// could refer to.
public final class NoCacheFloret: InterceptableFloret {
    private let power: Switch

    /// Creates a floret.
    ///
    /// - Parameter enabled: Whether the floret is initially enabled.
    public init(enabled: Bool = true) { power = Switch(enabled) }

    public var summary: String? { "Bypasses caches." }

    public var enabled: Bool {
        get { power.isOn }
        set { power.isOn = newValue }
    }

    public func willRequest(_ record: Record) async -> Record {
        var record = record
        record.designatedRequest.headers["If-Modified-Since"] = nil
        record.designatedRequest.headers["If-None-Match"] = nil
        record.designatedRequest.headers["Cache-Control"] = "no-cache"
        record.designatedRequest.headers["Pragma"] = "no-cache"
        return record
    }

    public func didRespond(_ record: Record) async -> Record {
        guard case .success(var response)? = record.result else { return record }
        var record = record
        if response.status == 304 {
            response.body.abandon()
            record.result = .failure(
                HTTPError(.protocolError, "The server answered 304 to a request that had no condition."))
            return record
        }
        response.headers["Last-Modified"] = nil
        response.headers["ETag"] = nil
        response.headers["Expires"] = "0"
        response.headers["Cache-Control"] = "no-cache"
        record.result = .success(response)
        return record
    }
}
