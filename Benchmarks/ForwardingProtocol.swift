import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A `URLProtocol` that only forwards each request to another `URLSession`. It needs the least time with which a session
/// can be watched by a protocol, because Foundation gives no other access to the traffic of a session.
final class ForwardingProtocol: URLProtocol {
    private static let session = URLSession(configuration: .ephemeral)

    /// A value that one thread at a time uses.
    private struct Unchecked<Value>: @unchecked Sendable { let value: Value }

    override class func canInit(with request: URLRequest) -> Bool { true }
    override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }
    override func stopLoading() {}

    override func startLoading() {
        let (protocolQueue, request, receiver) = (protocolQueue, Unchecked(value: request), Unchecked(value: self))
        // Foundation on Linux traps if a task is created on the queue of another session.
        DispatchQueue.global().async {
            Self.session.dataTask(with: request.value) { data, response, error in
                let answer = Unchecked(value: (data, response, error))
                protocolQueue.async { receiver.value.deliver(answer.value.0, answer.value.1, answer.value.2) }
            }.resume()
        }
    }

    private func deliver(_ data: Data?, _ response: URLResponse?, _ error: (any Error)?) {
        guard let data, let response else {
            client?.urlProtocol(self, didFailWithError: error ?? URLError(.unknown))
            return
        }
        client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
        client?.urlProtocol(self, didLoad: data)
        client?.urlProtocolDidFinishLoading(self)
    }

    /// The queue on which the client may be called.
    private var protocolQueue: DispatchQueue {
        var mirror = task.map { Mirror(reflecting: $0) }
        while let current = mirror {
            for case ("workQueue"?, let queue as DispatchQueue) in current.children { return queue }
            mirror = current.superclassMirror
        }
        return .main
    }
}
