import Foundation

// Foundation has this class on the systems with UIKit, and an import of UIKit imports Foundation.

/// https://developer.apple.com/documentation/foundation/nsbundleresourcerequest
open class NSBundleResourceRequest: NSObject {
    public init(tags: Set<String>, bundle: Bundle) { declared() }
    open var tags: Set<String> { declared() }
    open var bundle: Bundle { declared() }
    open var progress: Progress { declared() }
    open func beginAccessingResources(completionHandler: @escaping @Sendable ((any Error)?) -> Void) { declared() }
    open func endAccessingResources() { declared() }
}
