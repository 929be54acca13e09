import HTTPCore
import PluginHub

#if canImport(UIKit) && canImport(SwiftUI) && !os(watchOS)
    import UIKit
#endif

/// A small plugin of an `Interceptor`. Alone it has no effect, and the interceptor says so: conform to
/// `InterceptableFloret`, to `DisplayableFloret`, or to both.
public protocol Floret: AnyObject, Sendable {
    /// What it is called on screens, in records and reports; the type's name unless it says otherwise.
    var name: String { get }
    /// A sentence about what it does; `nil` unless it says otherwise.
    var summary: String? { get }
}

extension Floret {
    public var name: String { String(describing: type(of: self)) }
    public var summary: String? { nil }
}

/// A floret that looks at requests before they are sent and at answers when they are there, and may change both.
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
/// Florets are asked in the order the interceptor was given them, both ways. Which of them are enabled is looked at once
/// for each request, so whoever saw `willRequest` also sees `didRespond`. Both have a default that changes nothing.
public protocol InterceptableFloret: Floret {
    /// Whether it takes part in requests that begin from now on.
    var enabled: Bool { get set }

    /// Before the request is sent: inspect it, change the `designatedRequest`, fail it (`result = .failure`), or answer
    /// it (`result = .success`). Once there is a result the network is not asked; the florets that follow still see the
    /// record, and `didRespond` still runs.
    func willRequest(_ record: Record) async -> Record

    /// After the head of the answer came, or the failure: inspect or change the `result`.
    func didRespond(_ record: Record) async -> Record
}

extension InterceptableFloret {
    public func willRequest(_ record: Record) async -> Record { record }
    public func didRespond(_ record: Record) async -> Record { record }
}

/// A floret with a screen, for its settings or for what it has to show.
public protocol DisplayableFloret: Floret {
    /// The screen as it is now; `nil`, as unless it says otherwise, and the floret is not listed. The interceptor is the
    /// one that shows it: its storage has the records.
    func view(_ interceptor: Interceptor) -> ViewDocument?

    /// What the user did on the screen. Throws `InterceptionError` codes `unknownAction` and `invalidSetting`.
    func perform(_ action: ViewDocument.Action, in interceptor: Interceptor) async throws

    #if canImport(UIKit) && canImport(SwiftUI) && !os(watchOS)
        /// Returns the screen as a view controller, each time a list of florets appears: by default the document of
        /// `view(_:)` as a form. A floret with a view controller of its own needs no document.
        @MainActor func viewController(_ interceptor: Interceptor) -> UIViewController
    #endif
}

extension DisplayableFloret {
    public func view(_ interceptor: Interceptor) -> ViewDocument? { nil }

    public func perform(_ action: ViewDocument.Action, in interceptor: Interceptor) async throws {
        throw InterceptionError(.unknownAction, "The floret \"\(name)\" has no action \"\(action.id)\".")
    }
}
