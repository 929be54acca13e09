import HTTPCore
import Primitives

extension MockFloret {
    /// Answers requests like this record's as it was answered, in place of what was recorded for them; until this floret
    /// is gone, in no file.
    ///
    /// Throws `InterceptionError` code `invalidSetting` for a record without a whole answer.
    public func replay(_ record: Record) throws {
        guard replay([record]) == 1 else {
            throw InterceptionError(.invalidSetting, "The record has no whole answer that could be given again.")
        }
    }

    /// The same for records of a session, oldest first, as `HARDocument.records` gives them: several answers of one
    /// request come in their order. Answers how many of them can be given again; those without a whole answer cannot.
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
    /// `nil` for a record without a whole answer.
    fileprivate init?(_ record: Record) {
        guard var response = record.response, response.status != 0, let body = response.body.buffered,
            record.bodies.response.map({ !$0.isCut && $0.end == .complete }) ?? true
        else { return nil }
        // What browsers write down is decoded, whatever its headers say.
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
    /// What is encoded is no text, and most encodings are known by how they begin.
    fileprivate func isEncoded(as encoding: String) -> Bool {
        switch encoding.lowercased() {
        case "gzip", "x-gzip": starts(with: [0x1F, 0x8B])
        case "zstd": starts(with: [0x28, 0xB5, 0x2F, 0xFD])
        default: String(utf8: self) == nil
        }
    }
}
