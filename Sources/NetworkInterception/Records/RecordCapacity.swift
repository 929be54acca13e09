import HTTPCore

/// The limits of a storage, beyond which the oldest records are removed.
public struct RecordCapacity: Sendable, Hashable {
    /// The greatest number of records.
    public var records: Int
    /// The greatest number of bytes of all bodies, headers, URLs and signed texts.
    public var bytes: Int
    /// The greatest age of a record, counted from the start of its request; `nil` means no limit.
    public var age: Duration?

    /// Creates a capacity of at least one record.
    ///
    /// - Parameters:
    ///   - records: The greatest number of records.
    ///   - bytes: The greatest number of bytes of all bodies, headers, URLs and signed texts.
    ///   - age: The greatest age of a record; `nil` means no limit.
    public init(records: Int = 1000, bytes: Int = 64 << 20, age: Duration? = nil) {
        self.records = max(1, records)
        self.bytes = max(0, bytes)
        self.age = age
    }

    /// 1 000 records and 64 MiB.
    public static let standard = RecordCapacity()
}

extension Record {
    /// The bytes that the record counts towards `RecordCapacity.bytes`. A body that both requests share counts once.
    var recordedBytes: Int {
        let signed = signedTexts.reduce(0) { $0 + $1.header.utf8.count + $1.claims.utf8.count }
        guard let response else { return requests.recordedBytes + signed }
        return requests.recordedBytes + response.headers.byteCount + response.body.bufferedCount + signed
    }
}

extension Record.Requests {
    fileprivate var recordedBytes: Int {
        let isShared = original.body.buffered == designated.body.buffered
        let bodies = original.body.bufferedCount + (isShared ? 0 : designated.body.bufferedCount)
        let urls = original.url.utf8.count + designated.url.utf8.count
        return bodies + urls + original.headers.byteCount + designated.headers.byteCount
    }
}

extension HTTPBody {
    fileprivate var bufferedCount: Int { if case .bytes(let bytes) = self { bytes.count } else { 0 } }
}

extension HTTPHeaders {
    fileprivate var byteCount: Int { fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count } }
}
