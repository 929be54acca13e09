import HTTPCore

/// Which records a page wants to see, from its query: `text`, `method`, `host`, `status`, each of them optional.
struct RecordFilter: Sendable {
    private enum Status: Sendable {
        case hundreds(Int), failed, underway
    }

    private let text: String
    private let method: String
    private let host: String
    private let status: Status?

    /// Throws `HTTPProblem` naming the item.
    init(_ query: HTTPQuery) throws {
        text = (query["text"] ?? "").lowercased()
        method = (query["method"] ?? "").uppercased()
        host = (query["host"] ?? "").lowercased()
        switch query["status"] ?? "" {
        case "": status = nil
        case "failed": status = .failed
        case "underway": status = .underway
        case let text:
            guard text.count == 3, text.hasSuffix("xx"), let hundreds = text.first?.wholeNumberValue,
                (1...5).contains(hundreds)
            else { throw HTTPProblem.invalid("status", "status is 1xx to 5xx, failed or underway.") }
            status = .hundreds(hundreds)
        }
    }

    func selects(_ record: Record) -> Bool {
        let request = record.originalRequest
        if !method.isEmpty, request.method.rawValue.uppercased() != method { return false }
        if !host.isEmpty, !(request.authority ?? "").lowercased().contains(host) { return false }
        switch status {
        case nil: break
        case .failed: guard record.failure != nil else { return false }
        case .underway: guard record.result == nil else { return false }
        case .hundreds(let hundreds): guard (record.response?.status ?? 0) / 100 == hundreds else { return false }
        }
        return text.isEmpty || has(text, in: record)
    }

    private func has(_ text: String, in record: Record) -> Bool {
        func isIn(_ headers: HTTPHeaders) -> Bool {
            headers.contains { $0.name.lowercased().contains(text) || $0.value.lowercased().contains(text) }
        }
        func isIn(_ body: HTTPBody) -> Bool {
            String(decoding: body.buffered ?? [], as: UTF8.self).lowercased().contains(text)
        }
        return [record.originalRequest, record.designatedRequest].contains {
            $0.url.lowercased().contains(text) || isIn($0.headers) || isIn($0.body)
        } || (record.response.map { isIn($0.headers) || isIn($0.body) } ?? false)
    }
}
