import Foundation

/// https://developer.apple.com/documentation/uikit/uiresponder
@MainActor open class UIResponder: NSObject {}

/// https://developer.apple.com/documentation/uikit/uiviewcontroller
@MainActor open class UIViewController: UIResponder {
    public init(nibName nibNameOrNil: String?, bundle nibBundleOrNil: Bundle?) { declared() }
    public required init?(coder: NSCoder) { declared() }
    open func viewWillAppear(_ animated: Bool) { declared() }
    open func present(
        _ viewControllerToPresent: UIViewController, animated flag: Bool, completion: (@MainActor () -> Void)? = nil
    ) { declared() }
    open var navigationController: UINavigationController? { declared() }
    open var title: String? {
        get { declared() }
        set { declared() }
    }
}

/// https://developer.apple.com/documentation/uikit/uiscene
@MainActor open class UIScene: UIResponder {
    // …/uiscene/activationstate-swift.enum
    public enum ActivationState: Int, Sendable {
        case unattached = -1, foregroundActive, foregroundInactive, background
    }
    // …/uiscene/activationstate-swift.property
    public var activationState: ActivationState { declared() }
}

/// https://developer.apple.com/documentation/uikit/uiapplication
@MainActor open class UIApplication: UIResponder {
    public class var shared: UIApplication { declared() }
    public var connectedScenes: Set<UIScene> { declared() }
}

/// https://developer.apple.com/documentation/uikit/uiwindowscene
@MainActor open class UIWindowScene: UIScene {}

nonisolated func declared() -> Never { preconditionFailure("This module is for the type checker alone.") }
