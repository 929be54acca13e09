import Foundation
import UIKit

/// https://developer.apple.com/documentation/swiftui/uihostingcontroller
@MainActor open class UIHostingController<Content: View>: UIViewController {
    public init(rootView: Content) { declared() }
    public required init?(coder aDecoder: NSCoder) { declared() }
    public var rootView: Content {
        get { declared() }
        set { declared() }
    }
}

/// https://developer.apple.com/documentation/swiftui/uiviewcontrollerrepresentable
@MainActor @preconcurrency public protocol UIViewControllerRepresentable: View where Body == Never {
    associatedtype UIViewControllerType: UIViewController
    associatedtype Coordinator = Void
    typealias Context = UIViewControllerRepresentableContext<Self>
    func makeUIViewController(context: Self.Context) -> UIViewControllerType
    func updateUIViewController(_ uiViewController: UIViewControllerType, context: Self.Context)
}

/// https://developer.apple.com/documentation/swiftui/uiviewcontrollerrepresentable
extension UIViewControllerRepresentable {
    public var body: Never { declared() }
}

/// https://developer.apple.com/documentation/swiftui/uiviewcontrollerrepresentablecontext
@MainActor @preconcurrency
public struct UIViewControllerRepresentableContext<
    Representable: UIViewControllerRepresentable
> {}
