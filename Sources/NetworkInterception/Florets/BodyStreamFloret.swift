import HTTPCore
import Primitives

/// Makes bodies that stream into bytes, for the florets after it. Put it before those that read bodies.
///
/// A body of more than `maximumConvertedByteSize` bytes goes on as a stream, with what was read at its beginning. Whoever
/// waits for an answer waits until its body has come, or that many bytes of it; event streams are left alone, and give it
/// a `RecordSelector` where other answers never end.
public final class BodyStreamFloret: InterceptableFloret {
    public let maximumConvertedByteSize: Int
    private let selector: RecordSelector
    private let power: Switch

    /// - Parameters:
    ///   - maximumConvertedByteSize: the size in bytes up to which a body is converted.
    ///   - selector: whose bodies; asked before the request and again when there is an answer.
    ///   - enabled: whether the floret is on at first.
    public init(maximumConvertedByteSize: Int = 50 << 10, selector: RecordSelector = .all(), enabled: Bool = true) {
        self.maximumConvertedByteSize = max(0, maximumConvertedByteSize)
        self.selector = selector
        power = Switch(enabled)
    }

    public var summary: String? { "Bodies of up to \(maximumConvertedByteSize) bytes are at hand for other florets." }

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
