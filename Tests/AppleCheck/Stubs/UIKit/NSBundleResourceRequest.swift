import Foundation

// A part of Foundation on the systems that have UIKit, which brings Foundation along.

/// https://developer.apple.com/documentation/foundation/nsbundleresourcerequest
open class NSBundleResourceRequest: NSObject {
    // …/nsbundleresourcerequest/init(tags:bundle:)
    public init(tags: Set<String>, bundle: Bundle) { declared() }
    // …/nsbundleresourcerequest/tags
    open var tags: Set<String> { declared() }
    // …/nsbundleresourcerequest/bundle
    open var bundle: Bundle { declared() }
    // …/nsbundleresourcerequest/progress
    open var progress: Progress { declared() }
    // …/nsbundleresourcerequest/beginaccessingresources(completionhandler:)
    open func beginAccessingResources(completionHandler: @escaping @Sendable ((any Error)?) -> Void) { declared() }
    // …/nsbundleresourcerequest/endaccessingresources()
    open func endAccessingResources() { declared() }
}
