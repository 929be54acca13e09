import Foundation
import HTTPCore
import Primitives

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

// WARNING: reads private properties of Foundation by reflection. A new version can break each look-up.

/// The properties of a session task that `InterceptingURLProtocol` needs.
///
/// Sendable: no property changes, and `perform` runs its argument on the queue of the task.
struct TaskContext: @unchecked Sendable {
    /// Runs a closure on the queue on which the protocol client may be called.
    let perform: (@escaping @Sendable () -> Void) -> Void
    /// Whether the app receives the body in chunks. A completion handler would receive only the last chunk.
    let receivesChunks: Bool
    /// Whether the session's delegate cancels every challenge, because it belongs to a `SessionTransport`.
    let cancelsChallenges: Bool
    /// The body of an upload that is not part of the request.
    let upload: (@Sendable () -> HTTPBody)?
    let additionalHeaders: [String: String]
    /// The timeout without activity. For a request with the default of 60 s, the timeout of the session.
    let timeout: TimeInterval
    let resourceTimeout: TimeInterval

    static func session(of task: URLSessionTask) -> URLSession? {
        #if canImport(Darwin)
            nil
        #else
            member("session", of: task) as? URLSession
        #endif
    }

    #if canImport(Darwin)
        init?(_ urlProtocol: URLProtocol, _ task: URLSessionTask) {
            let loop = Unchecked(RunLoop.current)
            perform = { step in loop.value.perform(step) }
            receivesChunks = true
            cancelsChallenges = false
            upload = nil
            additionalHeaders = [:]
            timeout = urlProtocol.request.timeoutInterval
            resourceTimeout = 7 * 24 * 3600
        }
    #else
        init?(_ urlProtocol: URLProtocol, _ task: URLSessionTask) {
            guard let queue = member("workQueue", of: task) as? DispatchQueue,
                let session = Self.session(of: task)
            else { return nil }
            perform = { step in queue.async(execute: step) }
            receivesChunks = Self.receivesChunks(task, session)
            cancelsChallenges = session.delegate is SessionDelegate
            upload = Self.upload(of: task)
            let settings = session.configuration
            additionalHeaders = Dictionary(
                (settings.httpAdditionalHeaders ?? [:]).compactMap { name, value in
                    (name as? String).map { ($0, "\(value)") }
                }, uniquingKeysWith: { $1 })
            let given = urlProtocol.request.timeoutInterval
            timeout = given == 60 ? settings.timeoutIntervalForRequest : given
            resourceTimeout = settings.timeoutIntervalForResource
        }

        private static func receivesChunks(_ task: URLSessionTask, _ session: URLSession) -> Bool {
            guard task.delegate is any URLSessionDataDelegate || session.delegate is any URLSessionDataDelegate,
                let registry = member("taskRegistry", of: session),
                let behaviours = member("behaviours", of: registry) as? any Sequence
            else { return false }
            for entry in behaviours {
                let parts = Mirror(reflecting: entry).children.map(\.value)
                guard parts.count == 2, parts[0] as? Int == task.taskIdentifier else { continue }
                // The associated value is a completion handler, except for a delegate.
                let label = Mirror(reflecting: parts[1]).children.first?.label
                return label == nil || label == "taskDelegate"
            }
            return false
        }

        private static func upload(of task: URLSessionTask) -> (@Sendable () -> HTTPBody)? {
            guard let known = member("knownBody", of: task) else { return nil }
            if let data = member("data", of: known) as? DispatchData {
                let bytes = [UInt8](data)
                return { .bytes(bytes) }
            }
            if let file = member("file", of: known) as? URL {
                return {
                    let size = try? file.resourceValues(forKeys: [.fileSizeKey]).fileSize
                    return .stream(
                        HTTPBodyStream(reading: InputStream(url: file) ?? InputStream(data: Data()), length: size))
                }
            }
            return nil
        }
    #endif
}

#if !canImport(Darwin)
    /// The place of a stored property: the number of superclasses to its class, and its position there.
    private struct PropertyPlace {
        let depth: Int
        let position: Int
    }

    private struct PropertyKey: Hashable {
        let type: ObjectIdentifier
        let name: String
    }

    /// The places of the properties that were found. A search reflects every property before the one it finds.
    private let propertyPlaces = Locked<[PropertyKey: PropertyPlace]>([:])

    /// Returns the stored property `name` of `value`, found by reflection.
    private func member(_ name: String, of value: Any) -> Any? {
        let key = PropertyKey(type: ObjectIdentifier(type(of: value)), name: name)
        if let place = propertyPlaces.withLock({ $0[key] }), let found = child(at: place, of: value),
            found.label == name
        {
            return unwrapped(found.value)
        }
        var (mirror, depth): (Mirror?, Int) = (Mirror(reflecting: value), 0)
        while let current = mirror {
            for (position, child) in current.children.enumerated() where child.label == name {
                propertyPlaces.withLock { $0[key] = PropertyPlace(depth: depth, position: position) }
                return unwrapped(child.value)
            }
            (mirror, depth) = (current.superclassMirror, depth + 1)
        }
        return nil
    }

    private func child(at place: PropertyPlace, of value: Any) -> Mirror.Child? {
        var mirror: Mirror? = Mirror(reflecting: value)
        for _ in 0..<place.depth { mirror = mirror?.superclassMirror }
        guard let children = mirror?.children, place.position < children.count else { return nil }
        return children[children.index(children.startIndex, offsetBy: place.position)]
    }

    private func unwrapped(_ value: Any) -> Any? {
        let inside = Mirror(reflecting: value)
        return inside.displayStyle == .optional ? inside.children.first?.value : value
    }
#endif

/// A box for a value of a type that is not sendable.
///
/// Sendable: the user of the box ensures that one thread at a time uses the value.
struct Unchecked<Value>: @unchecked Sendable {
    let value: Value
    init(_ value: Value) { self.value = value }
}
