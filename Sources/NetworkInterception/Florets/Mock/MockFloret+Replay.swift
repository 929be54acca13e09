import HTTPCore
import Primitives

extension MockFloret {
    /// Replays the response of a record to the requests that match it, in place of their recordings. The response is
    /// kept in memory only.
    ///
    /// - Parameter record: The record.
    /// - Throws: `InterceptionError` with the code `invalidSetting` if the record has no complete response.
    public func replay(_ record: Record) throws {
        guard replay([record]) == 1 else {
            throw InterceptionError(.invalidSetting, "The record has no complete response to replay.")
        }
    }

    /// Replays the responses of records to the requests that match them, in place of their recordings. Several
    /// responses to one request are used in order.
    ///
    /// - Parameter records: The records, in the order in which their responses are used.
    /// - Returns: The number of records that can be replayed. Those without a complete response cannot.
    @discardableResult
    public func replay(_ records: [Record]) -> Int {
        let recordings = records.compactMap(MockRecording.init)
        let sequences = Dictionary(grouping: recordings) { configuration.key(of: $0.request) }
        state.withLock { state in
            for (key, sequence) in sequences {
                state.recordings[key] = sequence
                state.replayed[key] = nil
            }
        }
        return recordings.count
    }
}

extension MockRecording {
    /// `nil` if the record has no complete response.
    fileprivate init?(_ record: Record) {
        guard var response = record.response, response.status != 0, let body = response.body.buffered,
            record.bodies.response.map({ !$0.isCut && $0.end == .complete }) ?? true
        else { return nil }
        // Browsers write decoded bodies to HAR files, with headers that still name the encoding.
        if !body.isEmpty, !body.isEncoded(as: response.headers["Content-Encoding"] ?? "") {
            response.headers["Content-Encoding"] = nil
        }
        var request = record.designatedRequest
        request.body = .bytes(request.body.buffered ?? [])
        let answer = response
        self.init(path: "record \(record.id)", request: request, recorded: record.timing.answered) { .success(answer) }
    }
}

extension [UInt8] {
    /// Whether the bytes have this content encoding. Gzip and zstd have a signature. For any other encoding, bytes that
    /// are not UTF-8 count as encoded.
    fileprivate func isEncoded(as encoding: String) -> Bool {
        switch encoding.lowercased() {
        case "gzip", "x-gzip": starts(with: [0x1F, 0x8B])
        case "zstd": starts(with: [0x28, 0xB5, 0x2F, 0xFD])
        default: String(utf8: self) == nil
        }
    }
}
