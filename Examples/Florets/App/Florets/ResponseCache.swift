import Foundation
import HTTPCore
import NetworkInterception
import Primitives

/// Returns cached responses for a short time, without the network.
final class ResponseCache: InterceptableFloret {
    private struct Entry {
        let response: Response
        let expires: Date
    }

    private let lifetime: TimeInterval
    private let clock: any WallClock
    private let isOn = Locked(true)
    private let entries = Locked<[String: Entry]>([:])

    /// Keeps responses for `lifetime` seconds.
    init(lifetime: TimeInterval, clock: any WallClock = SystemClock()) {
        self.lifetime = lifetime
        self.clock = clock
    }

    var enabled: Bool {
        get { isOn.withLock { $0 } }
        set { isOn.withLock { $0 = newValue } }
    }

    func willRequest(_ record: Record) async -> Record {
        guard let key = key(of: record.designatedRequest) else { return record }
        let now = clock.now()
        let entry = entries.withLock { $0[key] }
        guard let entry, now < entry.expires else { return record }
        var record = record
        record.result = .success(entry.response)
        return record
    }

    func didRespond(_ record: Record) async -> Record {
        // Only complete responses from the network. The bytes of a stream arrive later, while the app reads it.
        guard record.timing.sent != nil, let key = key(of: record.designatedRequest), let response = record.response,
            response.status == 200, response.body.buffered != nil, response.headers["Cache-Control"] != "no-store"
        else { return record }
        let entry = Entry(response: response, expires: clock.now().addingTimeInterval(lifetime))
        entries.withLock { $0[key] = entry }
        return record
    }

    /// Returns the key of a GET request without `Authorization`; otherwise `nil`. A response to a request with it is
    /// for one customer.
    private func key(of request: HTTPRequest) -> String? {
        guard request.method == .get, request.headers["Authorization"] == nil else { return nil }
        return request.url
    }
}
