import Foundation
import UIKit

/// https://developer.apple.com/documentation/swiftui/uihostingcontroller
@MainActor open class UIHostingController<Content: View>: UIViewController {
    // …/uihostingcontroller/init(rootview:)
    public init(rootView: Content) { declared() }
    // …/uihostingcontroller/init(coder:)
    public required init?(coder aDecoder: NSCoder) { declared() }
    // …/uihostingcontroller/rootview
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
    // …/uiviewcontrollerrepresentable/makeuiviewcontroller(context:)
    func makeUIViewController(context: Self.Context) -> UIViewControllerType
    // …/uiviewcontrollerrepresentable/updateuiviewcontroller(_:context:)
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
