import Foundation
import HTTPCore
import Primitives

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

// WARNING: On Linux, calls to the URLProtocol client off the task's queue, reports of redirects and downloads end the
// process. Only reflection gives the queue and upload bodies; without the queue, requests fail with `unsupported`.

extension Interceptor {
    /// Handles the requests of sessions that are created with `configuration` after this call.
    ///
    /// Call it one line before `URLSession(configuration:)`. The interceptor does not handle the traffic of other
    /// sessions. Several interceptors may be installed in one configuration; the last one runs first. A configuration
    /// does not keep its interceptor alive. While the interceptor is paused or released, the sessions work as if it
    /// were not installed.
    ///
    /// The interceptor follows redirects itself, and each redirect is a request with its own record. The session's
    /// delegate does not receive them. On Linux the delegate receives challenges for a password (Basic). If the
    /// delegate has no credential, a 401 reaches the app at once, without its `WWW-Authenticate`. With that header,
    /// URLSession would wait for a credential forever. Download tasks fail with `InterceptionError.unsupported`.
    ///
    /// - Parameters:
    ///   - configuration: The configuration of the sessions.
    ///   - transport: Sends the requests. By default a URLSession with the same settings. Another transport must handle
    ///     cookies, caches and decompression.
    public func install(in configuration: URLSessionConfiguration, over transport: (any HTTPTransport)? = nil) {
        Attachment.attach(self, to: configuration, over: transport)
    }
}

/// The protocol class that sessions use instead of the network. `Interceptor.install(in:over:)` creates a class for
/// each configuration, because a protocol can identify its configuration only by its class.
class InterceptingURLProtocol: URLProtocol {
    private var loading: Loading?

    override class func canInit(with request: URLRequest) -> Bool {
        guard ["http", "https"].contains(request.url?.scheme?.lowercased()),
            let interceptor = Attachment.registered(for: self)?.interceptor
        else { return false }
        return interceptor.isRunning
    }

    override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

    override func startLoading() {
        if let loading { return loading.resume() }
        guard let attachment = Attachment.registered(for: type(of: self)), let interceptor = attachment.interceptor
        else {
            return refuse(URLError(.cancelled))
        }
        guard let task, !(task is URLSessionDownloadTask) else {
            return refuse(
                InterceptionError(
                    .unsupported,
                    "An interceptor cannot handle a download task. Use a data task, or pause the interceptor."))
        }
        guard let context = TaskContext(self, task) else {
            return refuse(
                InterceptionError(
                    .unsupported,
                    "This version of Foundation does not support an interceptor in URLSession. Use Interceptor.transport(wrapping:)."
                ))
        }
        let transport = interceptor.transport(wrapping: attachment.transport)
        loading = Loading(self, context, over: transport)
        loading?.begin()
    }

    /// Called when the app cancels or suspends its task.
    override func stopLoading() {
        if task?.state == .suspended { loading?.suspend() } else { loading?.stop() }
    }

    private func refuse(_ error: any Error) {
        client?.urlProtocol(self, didFailWithError: error)
        releaseClient()
    }
}

/// The installation of an interceptor in one configuration.
private final class Attachment: Sendable {
    private struct Weak { weak var interceptor: Interceptor? }

    private struct Registry {
        var attachments: [ObjectIdentifier: Attachment] = [:]
        var count = 0
    }

    private static let registry = Locked(Registry())

    private let owner: Locked<Weak>
    private let configuration: Unchecked<URLSessionConfiguration>
    private let type: AnyClass
    private let createdTransport: Locked<(any HTTPTransport)?>

    var interceptor: Interceptor? { owner.withLock { $0.interceptor } }

    private init(
        _ interceptor: Interceptor, _ configuration: URLSessionConfiguration, _ type: AnyClass,
        _ transport: (any HTTPTransport)?
    ) {
        owner = Locked(Weak(interceptor: interceptor))
        self.configuration = Unchecked(configuration)
        self.type = type
        createdTransport = Locked(transport)
    }

    static func registered(for type: AnyClass) -> Attachment? {
        registry.withLock { [key = ObjectIdentifier(type)] in $0.attachments[key] }
    }

    static func attach(
        _ interceptor: Interceptor, to configuration: URLSessionConfiguration, over transport: (any HTTPTransport)?
    ) {
        let classes = configuration.protocolClasses ?? []
        guard !classes.contains(where: { registered(for: $0)?.interceptor === interceptor }) else { return }
        let number = registry.withLock { registry in
            registry.count += 1
            return registry.count
        }
        let type = numbered(Never.self, number)
        let attachment = Attachment(interceptor, configuration, type, transport)
        let known = registry.withLock { registry in
            registry.attachments[ObjectIdentifier(type)] = attachment
            return registry.attachments
        }
        configuration.protocolClasses = [type] + classes
        let orphans = known.filter { $0.value.interceptor == nil }.keys
        // Released outside of the lock: the release of a transport may wait for code that needs the lock.
        registry.withLock { registry in orphans.map { registry.attachments.removeValue(forKey: $0) } }
    }

    /// Sends the requests after the florets. By default a session with the protocol classes that follow this one.
    var transport: any HTTPTransport {
        createdTransport.withLock { [configuration, type] createdTransport in
            if let createdTransport { return createdTransport }
            let copy = configuration.value.copy() as? URLSessionConfiguration ?? .default
            let classes = copy.protocolClasses ?? []
            let own = classes.firstIndex { $0 == type }
            copy.protocolClasses = own.map { Array(classes[($0 + 1)...]) } ?? classes
            let transport = SessionTransport(copy)
            createdTransport = transport
            return transport
        }
    }

    /// Returns a class that is unique to `number`. Its type parameter encodes the number in binary.
    private static func numbered<Digits>(_ digits: Digits.Type, _ number: Int) -> InterceptingURLProtocol.Type {
        if number == 0 { return Numbered<Digits>.self }
        return number & 1 == 0 ? numbered(Zero<Digits>.self, number >> 1) : numbered(One<Digits>.self, number >> 1)
    }

    private final class Numbered<Digits>: InterceptingURLProtocol {}
    private enum Zero<Digits> {}
    private enum One<Digits> {}
}
