import Foundation
import HTTPCore
import Primitives

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

// WARNING: URLProtocol on Linux is a minefield. A call to the client from any queue but the task's own ends the process;
// so do redirects told to the client, and downloads. The task's queue and the body of an upload are nowhere to be had but
// by reflection; where that fails the request fails, with a sentence that says so. Prefer
// `Interceptor.transport(wrapping:)` where you can.

extension Interceptor {
    /// Watches the sessions that are made with `configuration` from now on, one line before
    /// `URLSession(configuration:)`. This interceptor sees the traffic of no other session.
    ///
    /// What florets let through is sent by a URLSession with the same settings, or by `transport`, which then has to bring
    /// cookies, caches and decompression itself. Several interceptors may be installed: the last is asked first.
    /// The interceptor is not kept alive: when it is gone, and while it pauses, sessions work as if it had never been.
    ///
    /// Redirects are followed here, each one a request and a record of its own; the session's delegate is not asked about
    /// them. On Linux it is asked for a password as URLSession asks (Basic); a 401 that nobody has one for reaches the
    /// app at once, without its `WWW-Authenticate`, over which URLSession would wait for ever. Download tasks fail with
    /// `InterceptionError.unsupported`.
    public func install(in configuration: URLSessionConfiguration, over transport: (any HTTPTransport)? = nil) {
        Attachment.attach(self, to: configuration, over: transport)
    }
}

/// What sessions ask for an answer in place of the network. Made by `Interceptor.install(in:over:)`; each configuration
/// has a class of its own, because the class is all that URLSession hands on.
class InterceptingURLProtocol: URLProtocol {
    private var loading: Loading?

    override class func canInit(with request: URLRequest) -> Bool {
        guard ["http", "https"].contains(request.url?.scheme?.lowercased()),
            let interceptor = Attachment.of(self)?.interceptor
        else { return false }
        return interceptor.isRunning
    }

    override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

    override func startLoading() {
        if let loading { return loading.goOn() }
        guard let attachment = Attachment.of(type(of: self)), let interceptor = attachment.interceptor else {
            return refuse(URLError(.cancelled))
        }
        guard let task, !(task is URLSessionDownloadTask) else {
            return refuse(
                InterceptionError(
                    .unsupported, "A download task cannot pass an interceptor; use a data task, or pause it."))
        }
        guard let surroundings = Surroundings(self, task) else {
            return refuse(
                InterceptionError(
                    .unsupported, "This version of Foundation does not let an interceptor into its sessions."))
        }
        let transport = interceptor.transport(wrapping: attachment.transport)
        loading = Loading(self, surroundings, over: transport)
        loading?.begin()
    }

    /// Called when the app cancels its task, and when it suspends it.
    override func stopLoading() {
        if task?.state == .suspended { loading?.hold() } else { loading?.stop() }
    }

    private func refuse(_ error: any Error) {
        client?.urlProtocol(self, didFailWithError: error)
        forgetClient()
    }
}

// MARK: - Which session is whose

/// An interceptor's place in one configuration.
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
    private let made: Locked<(any HTTPTransport)?>

    var interceptor: Interceptor? { owner.withLock { $0.interceptor } }

    private init(
        _ interceptor: Interceptor, _ configuration: URLSessionConfiguration, _ type: AnyClass,
        _ transport: (any HTTPTransport)?
    ) {
        owner = Locked(Weak(interceptor: interceptor))
        self.configuration = Unchecked(configuration)
        self.type = type
        made = Locked(transport)
    }

    static func of(_ type: AnyClass) -> Attachment? {
        registry.withLock { [key = ObjectIdentifier(type)] in $0.attachments[key] }
    }

    static func attach(
        _ interceptor: Interceptor, to configuration: URLSessionConfiguration, over transport: (any HTTPTransport)?
    ) {
        let classes = configuration.protocolClasses ?? []
        guard !classes.contains(where: { of($0)?.interceptor === interceptor }) else { return }
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
        // They are handed out of the lock and end here: who lets go of a transport may have to wait for somebody who
        // wants the lock.
        registry.withLock { registry in orphans.map { registry.attachments.removeValue(forKey: $0) } }
    }

    /// What the florets let through goes here: what comes after this interceptor in its configuration.
    var transport: any HTTPTransport {
        made.withLock { [configuration, type] made in
            if let made { return made }
            let copy = configuration.value.copy() as? URLSessionConfiguration ?? .default
            let classes = copy.protocolClasses ?? []
            let own = classes.firstIndex { $0 == type }
            copy.protocolClasses = own.map { Array(classes[($0 + 1)...]) } ?? classes
            let transport = SessionTransport(copy)
            made = transport
            return transport
        }
    }

    /// A class that no other number has: its type parameter spells the number.
    private static func numbered<Digits>(_ digits: Digits.Type, _ number: Int) -> InterceptingURLProtocol.Type {
        if number == 0 { return Numbered<Digits>.self }
        return number & 1 == 0 ? numbered(Zero<Digits>.self, number >> 1) : numbered(One<Digits>.self, number >> 1)
    }

    private final class Numbered<Digits>: InterceptingURLProtocol {}
    private enum Zero<Digits> {}
    private enum One<Digits> {}
}
