import HTTPCore
import Primitives

/// Converts streamed bodies to bytes for the florets after it. Place it before florets that read bodies.
///
/// A body of more than ``maximumConvertedByteSize`` bytes stays a stream that begins with the bytes already read. Event
/// streams in responses are not converted, and a body with a larger announced length passes at once. Any other selected
/// response reaches the app only when its body, or more than that many bytes of it, has arrived. Use a
/// ``RecordSelector`` to exclude other responses without an end.
public final class BodyStreamFloret: InterceptableFloret {
    /// The greatest number of bytes of a body that is converted.
    public let maximumConvertedByteSize: Int
    private let selector: RecordSelector
    private let power: Switch

    /// Creates a floret.
    ///
    /// - Parameters:
    ///   - maximumConvertedByteSize: The greatest number of bytes of a body that is converted.
    ///   - selector: Selects the records whose bodies are converted. It runs before the request and again with the
    ///     response.
    ///   - enabled: Whether the floret is initially enabled.
    public init(maximumConvertedByteSize: Int = 50 << 10, selector: RecordSelector = .all(), enabled: Bool = true) {
        self.maximumConvertedByteSize = max(0, maximumConvertedByteSize)
        self.selector = selector
        power = Switch(enabled)
    }

    public var summary: String? {
        "Converts streamed bodies of up to \(maximumConvertedByteSize) bytes for other florets."
    }

    public var enabled: Bool {
        get { power.isOn }
        set { power.isOn = newValue }
    }

    public func willRequest(_ record: Record) async -> Record {
        guard selector.selects(record) else { return record }
        var record = record
        record.designatedRequest.body = await record.designatedRequest.body.gathered(upTo: maximumConvertedByteSize)
        return record
    }

    public func didRespond(_ record: Record) async -> Record {
        guard case .success(var response)? = record.result, !response.headers.isOfEventStream,
            selector.selects(record)
        else { return record }
        var record = record
        response.body = await response.body.gathered(upTo: maximumConvertedByteSize)
        record.result = .success(response)
        return record
    }
}
