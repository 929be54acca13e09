import HTTPCore
import PluginHub

#if canImport(UIKit) && canImport(SwiftUI) && !os(watchOS)
    import UIKit
#endif

/// A small plugin of an ``Interceptor``.
///
/// Conform to ``InterceptableFloret``, to ``DisplayableFloret``, or to both. A floret that conforms to neither has no
/// effect, which the interceptor reports.
public protocol Floret: AnyObject, Sendable {
    /// The name on screens, in records and in reports. By default the name of the type.
    var name: String { get }
    /// A sentence about the floret. By default `nil`.
    var summary: String? { get }
}

extension Floret {
    public var name: String { String(describing: type(of: self)) }
    public var summary: String? { nil }
}

/// A floret that inspects and changes requests before they are sent, and responses when they arrive.
///
///     final class Stamp: InterceptableFloret {
///         private let isOn = Locked(true)
///         var enabled: Bool { get { isOn.withLock { $0 } } set { isOn.withLock { $0 = newValue } } }
///
///         func willRequest(_ record: Record) async -> Record {
///             var record = record
///             record.designatedRequest.headers["X-Stamp"] = "seen"
///             return record
///         }
///     }
///
/// Florets run in the order of the interceptor's list, both for requests and for responses. The interceptor reads
/// `enabled` once per request, so that a floret that receives `willRequest` also receives `didRespond`. By default,
/// both functions change nothing.
public protocol InterceptableFloret: Floret {
    /// Whether the floret handles requests that begin from now on.
    var enabled: Bool { get set }

    /// Processes a record before its request is sent.
    ///
    /// The floret may inspect the record, change its `designatedRequest`, fail it (`result = .failure`), or answer it
    /// (`result = .success`). A request with a result is not sent. The florets that follow still receive the record,
    /// and `didRespond` still runs.
    ///
    /// - Parameter record: The record.
    /// - Returns: The record, changed or not.
    func willRequest(_ record: Record) async -> Record

    /// Processes a record when the head of its response, or its failure, has arrived. The floret may change the
    /// `result`.
    ///
    /// - Parameter record: The record.
    /// - Returns: The record, changed or not.
    func didRespond(_ record: Record) async -> Record
}

extension InterceptableFloret {
    public func willRequest(_ record: Record) async -> Record { record }
    public func didRespond(_ record: Record) async -> Record { record }
}

/// A floret with a screen for its settings or its content.
public protocol DisplayableFloret: Floret {
    /// Returns the current screen, or `nil` if the floret has none. By default `nil`.
    ///
    /// - Parameter interceptor: The interceptor that shows the screen, whose storage has the records.
    func view(_ interceptor: Interceptor) -> ViewDocument?

    /// Performs an action of the user on the screen.
    ///
    /// - Parameters:
    ///   - action: The action.
    ///   - interceptor: The interceptor that shows the screen.
    /// - Throws: `InterceptionError` with the code `unknownAction` or `invalidSetting`.
    func perform(_ action: ViewDocument.Action, in interceptor: Interceptor) async throws

    #if canImport(UIKit) && canImport(SwiftUI) && !os(watchOS)
        /// Returns the screen as a view controller. `FloretsViewController` calls it each time the list appears. By
        /// default, the view controller shows the document of `view(_:)` as a form. A floret with its own view
        /// controller needs no document.
        ///
        /// - Parameter interceptor: The interceptor that shows the screen.
        @MainActor func viewController(_ interceptor: Interceptor) -> UIViewController
    #endif
}

extension DisplayableFloret {
    public func view(_ interceptor: Interceptor) -> ViewDocument? { nil }

    public func perform(_ action: ViewDocument.Action, in interceptor: Interceptor) async throws {
        throw InterceptionError(.unknownAction, "The floret \"\(name)\" has no action \"\(action.id)\".")
    }
}
