import Foundation

// A part of Foundation on the systems that have UIKit, which brings Foundation along.

/// https://developer.apple.com/documentation/foundation/nsbundleresourcerequest
open class NSBundleResourceRequest: NSObject {
    public init(tags: Set<String>, bundle: Bundle) { declared() }
    open var tags: Set<String> { declared() }
    open var bundle: Bundle { declared() }
    open var progress: Progress { declared() }
    open func beginAccessingResources(completionHandler: @escaping @Sendable ((any Error)?) -> Void) { declared() }
    open func endAccessingResources() { declared() }
}
