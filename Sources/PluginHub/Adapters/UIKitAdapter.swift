#if canImport(UIKit) && canImport(SwiftUI) && !os(watchOS)
    import SwiftUI
    import UIKit

    /// A plugin that draws its screens with UIKit. What `SwiftUIPlugin` says of documents and of the main actor holds here.
    public protocol UIKitPlugin: PluginProtocol {
        @MainActor func onReceive(viewQuery: Message, payload: JSONObject?) throws -> UIViewController
    }

    extension UIKitPlugin {
        public func onReceive(viewQuery: Message, payload: JSONObject?) throws -> ViewDocument {
            try NativeView.document(for: viewQuery) {
                let controller: UIViewController = try onReceive(viewQuery: viewQuery, payload: payload)
                return controller
            }
        }
    }

    extension MessageSending {
        /// The screen as a view controller: the one its plugin made, or its document as a form whose actions go back
        /// through the hub as commands of `sender`. Throws as the method that gives a `ViewDocument`, which is the one
        /// meant where no type is written.
        @MainActor @_disfavoredOverload
        public func send(
            viewQuery: Message, payload: JSONObject?, sender: any PluginProtocol
        ) throws -> UIViewController {
            let document: ViewDocument = try send(viewQuery: viewQuery, payload: payload, sender: sender)
            return document.viewController { [weak sender] action in
                if let sender { try self.perform(action, as: sender) }
            }
        }
    }

    extension ViewDocument {
        /// The document as a view controller; `perform` gets what the user does, and what it throws is shown.
        @MainActor public func viewController(
            perform: @escaping @MainActor (Action) throws -> Void
        ) -> UIViewController {
            if let controller = native.view as? UIViewController { return controller }
            let controller = UIHostingController(rootView: AnyView(view(perform: perform)))
            controller.title = title
            return controller
        }
    }

    /// A plugin's view controller where a SwiftUI view is asked for.
    struct ControllerView: UIViewControllerRepresentable {
        let controller: UIViewController

        func makeUIViewController(context: Context) -> UIViewController { controller }
        func updateUIViewController(_ controller: UIViewController, context: Context) {}
    }
#endif
