import HTTPCore

/// A transport whose traffic an interceptor watches; made by `Interceptor.transport(wrapping:)`.
///
/// Throws what the transport inside throws, or the failure a floret put in its place. Bodies stream both ways: an answer
/// that arrives as a stream is handed on as soon as the florets have seen its head.
package struct InterceptingTransport: HTTPTransport {
    private let transport: any HTTPTransport
    private let interceptor: Interceptor

    package init(_ transport: any HTTPTransport, interceptor: Interceptor) {
        self.transport = transport
        self.interceptor = interceptor
    }

    package func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        guard interceptor.isRunning else { return try await transport.send(request) }
        let record = Record(request)
        guard let florets = interceptor.florets(for: record) else { return try await transport.send(request) }
        return try await Exchange(florets, interceptor).run(record, over: transport)
    }
}
