import CMicrohttpd
import HTTPCore

/// Passes a response to microhttpd, which adds its length and the date.
struct ResponseWriter {
    enum Prepared {
        case bytes(HTTPResponse)
        case stream(HTTPResponse, HTTPBodyStream)
        /// The connection is closed without a response.
        case nothing
    }

    let isHead: Bool
    let closesConnection: Bool
    /// Returns the replacement for a response that would corrupt the message.
    let invalidAnswer: () -> HTTPResponse

    /// Returns the response to send: without a body where none is allowed (RFC 9110 section 6.4.1), or `invalidAnswer`
    /// if the response is invalid.
    func prepare(_ response: HTTPResponse) -> Prepared {
        var response = response
        if response.status == HTTPResponse.connectionClosed.status { return .nothing }
        if !(200...599).contains(response.status) || (try? response.headers.validate()) == nil {
            if case .stream(let stream) = response.body { stream.cancel() }
            response = invalidAnswer()
        }
        guard case .stream(let stream) = response.body else {
            if response.status == 204 || response.status == 304 { response.body = .empty }
            return .bytes(response)
        }
        if isHead || response.status == 204 || response.status == 304 {
            stream.cancel()
            if isHead, response.headers["Content-Length"] == nil, let length = stream.length {
                response.headers["Content-Length"] = String(length)
            }
            response.body = .empty
            return .bytes(response)
        }
        return .stream(response, stream)
    }

    /// Queues a response with a buffered body. Responses to HEAD and responses 304 may state the length of a body that they
    /// do not have.
    func queue(_ response: HTTPResponse, on connection: MHDConnection) -> MHD_Result {
        let bytes = response.body.buffered ?? []
        let stated = isHead || response.status == 304 ? response.headers["Content-Length"].flatMap { UInt64($0) } : nil
        if bytes.isEmpty, let stated {
            let bodyless = MHD_create_response_from_callback(stated, 1, Self.nothing, nil, nil)
            return queue(bodyless, response, on: connection)
        }
        if response.status == 304 {
            // RFC 9110 section 8.6 allows only the length of the response 200. Without a length, microhttpd would send
            // an empty chunk, which a response 304 must not contain, so the connection ends after it.
            let bodyless = MHD_create_response_from_callback(UInt64.max, 1, Self.nothing, nil, nil)
            if let bodyless { souk_mhd_forbid_chunks(bodyless) }
            return queue(bodyless, response, on: connection)
        }
        let created = bytes.withUnsafeBytes { bytes in
            MHD_create_response_from_buffer(
                bytes.count, UnsafeMutableRawPointer(mutating: bytes.baseAddress), .RESPMEM_MUST_COPY)
        }
        return queue(created, response, on: connection)
    }

    /// Queues a streamed response. `reader` lives until microhttpd frees the response.
    func queue(
        _ response: HTTPResponse, length: Int?, _ reader: ResponseReader, on connection: MHDConnection
    ) -> MHD_Result {
        let retained = Unmanaged.passRetained(reader)
        let size = length.map { UInt64($0) } ?? UInt64.max  // MHD_SIZE_UNKNOWN
        guard
            let created = MHD_create_response_from_callback(
                size, 1 << 14, ResponseReader.read, retained.toOpaque(), ResponseReader.free)
        else {
            retained.release()
            return .NO
        }
        return queue(created, response, on: connection)
    }

    private func queue(_ created: OpaquePointer?, _ response: HTTPResponse, on connection: MHDConnection) -> MHD_Result
    {
        guard let created else { return .NO }
        defer { MHD_destroy_response(created) }
        for field in response.headers where !Self.isWrittenByListener(field.name) {
            let value = field.value.isEmpty ? " " : field.value  // microhttpd refuses ""; clients trim " ".
            guard MHD_add_response_header(created, field.name, value) == .YES else { return .NO }
        }
        if closesConnection || response.headers.values("Connection").contains(where: { $0.equalsIgnoringCase("close") })
        {
            MHD_add_response_header(created, "Connection", "close")
        }
        return MHD_queue_response(connection.pointer, UInt32(response.status), created)
    }

    private static func isWrittenByListener(_ name: String) -> Bool {
        switch name.utf8.count {
        case 10: name.equalsIgnoringCase("Connection") || name.equalsIgnoringCase("Keep-Alive")
        case 14: name.equalsIgnoringCase("Content-Length")
        case 17: name.equalsIgnoringCase("Transfer-Encoding")
        default: false
        }
    }

    private static let nothing: MHD_ContentReaderCallback = { _, _, _, _ in -1 }
}

/// Passes a streamed body to microhttpd in chunks. Parks the connection while no chunk is available.
final class ResponseReader: Sendable {
    private let feed: BodyFeed
    private let connection: Connection
    private let handle: MHDConnection

    init(feed: BodyFeed, connection: Connection, handle: MHDConnection) {
        self.feed = feed
        self.connection = connection
        self.handle = handle
    }

    private static let endOfStream = -1
    private static let endWithError = -2

    private func fill(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
        while true {
            switch feed.take(into: buffer) {
            case .bytes(let count): return count
            case .end: return Self.endOfStream
            case .failed: return Self.endWithError
            case .wait:
                switch connection.park(handle) {
                case .parked: return 0
                case .again: continue
                case .refused: return Self.endWithError
                }
            }
        }
    }

    static let read: MHD_ContentReaderCallback = { context, _, buffer, count in
        guard let context, let buffer else { return ResponseReader.endWithError }
        let reader = Unmanaged<ResponseReader>.fromOpaque(context).takeUnretainedValue()
        return reader.fill(UnsafeMutableRawBufferPointer(start: buffer, count: count))
    }

    static let free: MHD_ContentReaderFreeCallback = { context in
        guard let context else { return }
        let reader = Unmanaged<ResponseReader>.fromOpaque(context).takeRetainedValue()
        reader.feed.cancel()
    }
}
