import HTTPCore

/// How much a storage keeps before the oldest records go.
public struct RecordCapacity: Sendable, Hashable {
    public var records: Int
    /// Bytes of bodies, headers and URLs in all.
    public var bytes: Int
    /// How long ago a record's request may have begun; `nil` is any time.
    public var age: Duration?

    public init(records: Int = 1000, bytes: Int = 64 << 20, age: Duration? = nil) {
        self.records = max(1, records)
        self.bytes = max(0, bytes)
        self.age = age
    }

    /// 1 000 records, 64 MiB.
    public static let standard = RecordCapacity()
}

extension Record {
    /// What a record counts for against a capacity's bytes. A body that two of its messages share counts once.
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
