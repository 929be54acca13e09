#if canImport(UIKit) && canImport(SwiftUI) && !os(watchOS)
    import SwiftUI
    import UIKit

    /// A plugin that draws its screens with UIKit. The rules of `SwiftUIPlugin` for documents and the main actor apply.
    public protocol UIKitPlugin: PluginProtocol {
        /// Returns a screen as a view controller.
        ///
        /// - Parameters:
        ///   - viewQuery: The view query.
        ///   - payload: The parameters of the query, or `nil`.
        /// - Returns: The screen.
        /// - Throws: An error when the plugin cannot show the screen.
        @MainActor func onReceive(viewQuery: Message, payload: JSONObject?) throws -> UIViewController
    }

    extension UIKitPlugin {
        /// Returns a document that carries the view controller.
        ///
        /// - Parameters:
        ///   - viewQuery: The view query.
        ///   - payload: The parameters of the query, or `nil`.
        /// - Returns: The document.
        /// - Throws: The error of the plugin, or `PluginError` with the code `viewUnavailable` off the main actor.
        public func onReceive(viewQuery: Message, payload: JSONObject?) throws -> ViewDocument {
            try NativeView.document(for: viewQuery) {
                let controller: UIViewController = try onReceive(viewQuery: viewQuery, payload: payload)
                return controller
            }
        }
    }

    extension MessageSending {
        /// Sends a view query and returns the screen as a view controller: the plugin's own, or a form for its
        /// document. The actions of the form are sent as commands of `sender`.
        ///
        /// The method that returns a `ViewDocument` is called unless the type is stated.
        ///
        /// - Parameters:
        ///   - viewQuery: The view query.
        ///   - payload: The parameters of the query, or `nil`.
        ///   - sender: The plugin that calls.
        /// - Returns: The view controller.
        /// - Throws: `PluginError`, or the error of the receiver.
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
        /// Returns the document as a view controller.
        ///
        /// - Parameter perform: A function that executes an action of the user. The screen displays its error.
        /// - Returns: The view controller.
        @MainActor public func viewController(
            perform: @escaping @MainActor (Action) throws -> Void
        ) -> UIViewController {
            if let controller = native.view as? UIViewController { return controller }
            let controller = UIHostingController(rootView: AnyView(view(perform: perform)))
            controller.title = title
            return controller
        }
    }

    /// A SwiftUI view that contains the view controller of a plugin.
    struct ControllerView: UIViewControllerRepresentable {
        let controller: UIViewController

        func makeUIViewController(context: Context) -> UIViewController { controller }
        func updateUIViewController(_ controller: UIViewController, context: Context) {}
    }
#endif
