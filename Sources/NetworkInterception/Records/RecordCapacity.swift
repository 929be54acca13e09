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
        let original = originalRequest.body.buffered ?? []
        let designated = designatedRequest.body.buffered ?? []
        let bodies =
            original.count + (original == designated ? 0 : designated.count) + (response?.body.buffered?.count ?? 0)
        let signed = signedTexts.reduce(0) { $0 + $1.header.utf8.count + $1.claims.utf8.count }
        return bodies + signed + originalRequest.headBytes + designatedRequest.headBytes
            + (response?.headers.byteCount ?? 0)
    }
}

extension HTTPRequest {
    fileprivate var headBytes: Int { url.utf8.count + headers.byteCount }
}

extension HTTPHeaders {
    fileprivate var byteCount: Int { fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count } }
}
