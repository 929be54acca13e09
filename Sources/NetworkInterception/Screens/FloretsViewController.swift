#if canImport(UIKit) && canImport(SwiftUI) && !os(watchOS) && !os(tvOS)
    import Foundation
    import UIKit

    /// A list of an interceptor's florets, with the name, summary and switch of each. A tap shows the screen of the
    /// floret.
    ///
    ///     navigationController.pushViewController(FloretsViewController(interceptor), animated: true)
    ///
    /// It must be in a navigation controller. Each time the list appears, it gets the view controllers of the
    /// displayable florets again. A switch affects requests that begin later.
    public final class FloretsViewController: UITableViewController {
        private let interceptor: Interceptor
        /// The screen of each floret, `nil` for a floret without one.
        private var screens: [UIViewController?]

        /// Creates the list of the florets of `interceptor`, in the order in which they run.
        public init(_ interceptor: Interceptor) {
            self.interceptor = interceptor
            screens = interceptor.florets.map { _ in nil }
            super.init(style: .insetGrouped)
            title = "Florets"
        }

        /// Returns `nil`: a storyboard has no interceptor.
        public required init?(coder: NSCoder) { nil }

        public override func viewWillAppear(_ animated: Bool) {
            super.viewWillAppear(animated)
            screens = interceptor.florets.map { floret in
                let controller = (floret as? any DisplayableFloret)?.viewController(interceptor)
                if let drawn = controller as? FloretViewController, !drawn.hasDocument { return nil }
                return controller
            }
            tableView.reloadData()
        }

        public override func tableView(_ tableView: UITableView, numberOfRowsInSection section: Int) -> Int {
            interceptor.florets.count
        }

        public override func tableView(
            _ tableView: UITableView, cellForRowAt indexPath: IndexPath
        ) -> UITableViewCell {
            let row = FloretRow(interceptor.florets[indexPath.row], in: interceptor)
            let cell = UITableViewCell(style: .default, reuseIdentifier: nil)
            var content = UIListContentConfiguration.subtitleCell()
            content.text = row.name
            content.secondaryText = row.summary
            cell.contentConfiguration = content
            cell.accessoryType = screens[indexPath.row] == nil ? .none : .disclosureIndicator
            if let isEnabled = row.isEnabled {
                cell.accessoryView = makeSwitch(isEnabled, named: row.name, at: indexPath.row)
            }
            return cell
        }

        public override func tableView(_ tableView: UITableView, shouldHighlightRowAt indexPath: IndexPath) -> Bool {
            screens[indexPath.row] != nil
        }

        public override func tableView(_ tableView: UITableView, didSelectRowAt indexPath: IndexPath) {
            tableView.deselectRow(at: indexPath, animated: true)
            guard let screen = screens[indexPath.row] else { return }
            navigationController?.pushViewController(screen, animated: true)
        }

        private func makeSwitch(_ isOn: Bool, named name: String, at index: Int) -> UISwitch {
            let control = UISwitch()
            control.isOn = isOn
            control.accessibilityLabel = name
            control.addAction(
                UIAction { [interceptor] action in
                    guard let isOn = (action.sender as? UISwitch)?.isOn else { return }
                    (interceptor.florets[index] as? any InterceptableFloret)?.enabled = isOn
                }, for: .valueChanged)
            return control
        }
    }

    extension Interceptor {
        /// Returns a list of the florets, with a switch and the screen of each. It must be in a navigation controller.
        @MainActor public func viewController() -> UIViewController { FloretsViewController(self) }
    }
#endif
