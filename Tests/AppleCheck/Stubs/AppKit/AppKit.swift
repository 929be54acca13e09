import Foundation

/// https://developer.apple.com/documentation/appkit/nsresponder
@MainActor open class NSResponder: NSObject {}

/// https://developer.apple.com/documentation/appkit/nswindow
@MainActor open class NSWindow: NSResponder {
    open var contentViewController: NSViewController? {
        get { declared() }
        set { declared() }
    }
}

/// https://developer.apple.com/documentation/appkit/nsworkspace
open class NSWorkspace: NSObject {
    open class var shared: NSWorkspace { declared() }
    open func open(_ url: URL) -> Bool { declared() }
}

/// https://developer.apple.com/documentation/appkit/nsapplication
@MainActor open class NSApplication: NSResponder {
    public class var shared: NSApplication { declared() }
    public var keyWindow: NSWindow? { declared() }
}

/// https://developer.apple.com/documentation/appkit/nsviewcontroller
@MainActor open class NSViewController: NSResponder {}

nonisolated func declared() -> Never { preconditionFailure("This module is for the type checker alone.") }
