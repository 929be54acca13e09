#if canImport(UIKit) && canImport(SwiftUI) && !os(watchOS)
    import Foundation
    import PluginHub
    import SwiftUI
    import UIKit

    /// Draws the document of a floret as a form, performs its actions, and shows the new document after each.
    final class FloretViewController: UIHostingController<AnyView> {
        private let screen: FloretScreen

        init(_ floret: any DisplayableFloret, in interceptor: Interceptor) {
            screen = FloretScreen(floret, in: interceptor)
            super.init(rootView: AnyView(EmptyView()))
            title = screen.name
            screen.onChange = { [weak self] refusal in
                self?.draw()
                if let refusal { self?.show(refusal) }
            }
            draw()
        }

        /// Returns `nil`: a storyboard has no floret to show.
        required init?(coder: NSCoder) { nil }

        /// Whether the floret has a document.
        var hasDocument: Bool { screen.document != nil }

        override func viewWillAppear(_ animated: Bool) {
            super.viewWillAppear(animated)
            draw()
        }

        private func draw() {
            guard let document = screen.document else {
                rootView = AnyView(EmptyView())
                return
            }
            title = document.title
            rootView = AnyView(document.view { [weak screen] action in screen?.perform(action) })
        }

        private func show(_ refusal: String) {
            let alert = UIAlertController(title: nil, message: refusal, preferredStyle: .alert)
            alert.addAction(UIAlertAction(title: "OK", style: .default, handler: nil))
            present(alert, animated: true, completion: nil)
        }
    }

    extension DisplayableFloret {
        /// Draws the document of `view(_:)` as a form.
        ///
        /// - Parameter interceptor: The interceptor that shows the screen.
        @MainActor public func viewController(_ interceptor: Interceptor) -> UIViewController {
            FloretViewController(self, in: interceptor)
        }
    }
#endif
