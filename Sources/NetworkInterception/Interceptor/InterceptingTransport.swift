import HTTPCore

/// A transport whose traffic an interceptor records and changes. `Interceptor.transport(wrapping:)` creates it.
///
/// It throws the error of the inner transport, or the failure that a floret set. Bodies stream in both directions: a
/// streamed response is returned as soon as the florets have processed its head.
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
