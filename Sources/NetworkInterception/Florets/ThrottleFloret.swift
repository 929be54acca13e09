import HTTPCore
import PluginHub
import Primitives

/// Slows the network down: it limits the bytes per second in each direction and delays each request.
///
/// Streamed bodies are delayed chunk by chunk, and buffered bodies all at once. Each exchange may use the whole rate,
/// even while other exchanges run. Headers do not count.
public final class ThrottleFloret: InterceptableFloret, DisplayableFloret {
    /// The limits of the network.
    public struct Limits: Sendable, Hashable {
        /// Bytes of request bodies per second; `nil` means no limit.
        public var up: Int?
        /// Bytes of response bodies per second; `nil` means no limit.
        public var down: Int?
        /// The delay of each request.
        public var latency: Duration

        /// Creates limits.
        ///
        /// - Parameters:
        ///   - up: Bytes of request bodies per second; `nil` means no limit.
        ///   - down: Bytes of response bodies per second; `nil` means no limit.
        ///   - latency: The delay of each request.
        public init(up: Int? = nil, down: Int? = nil, latency: Duration = .zero) {
            self.up = up.map { max(1, $0) }
            self.down = down.map { max(1, $0) }
            self.latency = max(.zero, latency)
        }
    }

    private let power: Switch
    private let current: Locked<Limits>
    private let wait: @Sendable (Duration) async throws -> Void

    /// Creates a floret.
    ///
    /// - Parameters:
    ///   - limits: The limits of the network.
    ///   - enabled: Whether the floret is initially enabled.
    ///   - wait: Returns after the duration, or throws when its task is cancelled.
    public init(
        _ limits: Limits, enabled: Bool = true,
        wait: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) {
        power = Switch(enabled)
        current = Locked(limits)
        self.wait = wait
    }

    public var summary: String? { "Limits the speed of the network." }

    public var enabled: Bool {
        get { power.isOn }
        set { power.isOn = newValue }
    }

    /// The limits for requests and responses from now on.
    public var limits: Limits {
        get { current.withLock { $0 } }
        set { current.withLock { $0 = newValue } }
    }

    public func willRequest(_ record: Record) async -> Record {
        let limits = limits
        var record = record
        // A cancelled wait is ignored: the transport ends the cancelled request.
        if limits.latency > .zero { try? await wait(limits.latency) }
        if let rate = limits.up, record.result == nil {
            record.designatedRequest.body = await paced(record.designatedRequest.body, rate)
        }
        return record
    }

    public func didRespond(_ record: Record) async -> Record {
        guard let rate = limits.down, case .success(var response)? = record.result else { return record }
        var record = record
        response.body = await paced(response.body, rate)
        record.result = .success(response)
        return record
    }

    private func paced(_ body: HTTPBody, _ rate: Int) async -> HTTPBody {
        switch body {
        case .bytes(let bytes):
            if !bytes.isEmpty { try? await wait(.seconds(Double(bytes.count) / Double(rate))) }
            return body
        case .stream(let stream):
            return .stream(paced(stream, rate))
        }
    }

    /// Returns the stream in chunks of one byte, or of more bytes whose transfer takes at most a tenth of a second.
    /// Each chunk is delayed by its transfer time.
    private func paced(_ stream: HTTPBodyStream, _ rate: Int) -> HTTPBodyStream {
        let piece = max(1, rate / 10)
        let rest = Locked<ArraySlice<UInt8>>([])
        let wait = wait
        return HTTPBodyStream(
            length: stream.length,
            next: {
                while rest.withLock({ $0.isEmpty }) {
                    guard let chunk = try await stream.next() else { return nil }
                    rest.withLock { $0 = chunk[...] }
                }
                let next = rest.withLock { rest in
                    let next = Array(rest.prefix(piece))
                    rest = rest.dropFirst(next.count)
                    return next
                }
                do {
                    try await wait(.seconds(Double(next.count) / Double(rate)))
                } catch {
                    stream.cancel()
                    throw error
                }
                return next
            }, cancel: { stream.cancel() })
    }

    public func view(_ interceptor: Interceptor) -> ViewDocument? {
        let limits = limits
        func field(_ id: String, _ label: String, _ value: String) -> ViewDocument.Row {
            .field(id: id, label: label, value: value, placeholder: "no limit", action: .init("throttle.set"))
        }
        return ViewDocument(
            title: name,
            sections: [
                .init(rows: [
                    field("up", "Upload in bytes per second", limits.up.map(String.init) ?? ""),
                    field("down", "Download in bytes per second", limits.down.map(String.init) ?? ""),
                    field("latency", "Delay of each request in seconds", "\(limits.latency / .seconds(1))"),
                ])
            ])
    }

    public func perform(_ action: ViewDocument.Action, in interceptor: Interceptor) async throws {
        guard action.id == "throttle.set" else { throw unknown(action) }
        var limits = limits
        for name in action.values.keys.sorted() {
            let text = try action.text(name)
            switch name {
            case "up", "down":
                let rate = Int(text)
                guard text.isEmpty || (rate ?? 0) > 0 else {
                    throw action.invalid(name, "a whole number of at least 1, or empty")
                }
                if name == "up" { limits.up = rate } else { limits.down = rate }
            case "latency":
                guard let seconds = Double(text.isEmpty ? "0" : text), (0...3600).contains(seconds) else {
                    throw action.invalid(name, "seconds from 0 to 3600")
                }
                limits.latency = .seconds(seconds)
            default: throw action.invalid(name, "absent: the settings are up, down and latency")
            }
        }
        self.limits = limits
    }
}
