import Foundation

/// https://developer.apple.com/documentation/uikit/uiview
@MainActor open class UIView: UIResponder {
    public init(frame: CGRect) { declared() }
    public required init?(coder: NSCoder) { declared() }
    // On Apple's platforms, this initializer is inherited from NSObject and sets an empty frame.
    public convenience override init() { declared() }
}

/// https://developer.apple.com/documentation/objectivec/nsobject-swift.class/accessibilitylabel
extension UIView {
    public var accessibilityLabel: String? {
        get { declared() }
        set { declared() }
    }
}

/// https://developer.apple.com/documentation/uikit/uitableview
@MainActor open class UITableView: UIView {
    // …/uitableview/style-swift.enum
    public enum Style: Int, Sendable { case plain, grouped, insetGrouped }
    open func reloadData() { declared() }
    open func deselectRow(at indexPath: IndexPath, animated: Bool) { declared() }
}

/// https://developer.apple.com/documentation/uikit/uitableviewcell
@MainActor open class UITableViewCell: UIView {
    public enum CellStyle: Int, Sendable { case `default`, value1, value2, subtitle }
    // …/uitableviewcell/accessorytype-swift.enum
    public enum AccessoryType: Int, Sendable {
        case none, disclosureIndicator, detailDisclosureButton, checkmark, detailButton
    }
    public init(style: UITableViewCell.CellStyle, reuseIdentifier: String?) { declared() }
    public required init?(coder: NSCoder) { declared() }
    open var contentConfiguration: (any UIContentConfiguration)? {
        get { declared() }
        set { declared() }
    }
    // …/uitableviewcell/accessorytype-swift.property
    open var accessoryType: UITableViewCell.AccessoryType {
        get { declared() }
        set { declared() }
    }
    open var accessoryView: UIView? {
        get { declared() }
        set { declared() }
    }
}

/// https://developer.apple.com/documentation/uikit/uitableviewcontroller
@MainActor open class UITableViewController: UIViewController {
    public init(style: UITableView.Style) { declared() }
    public required init?(coder: NSCoder) { declared() }
    open var tableView: UITableView! {
        get { declared() }
        set { declared() }
    }
    open func tableView(_ tableView: UITableView, numberOfRowsInSection section: Int) -> Int { declared() }
    open func tableView(_ tableView: UITableView, cellForRowAt indexPath: IndexPath) -> UITableViewCell { declared() }
    open func tableView(_ tableView: UITableView, shouldHighlightRowAt indexPath: IndexPath) -> Bool { declared() }
    open func tableView(_ tableView: UITableView, didSelectRowAt indexPath: IndexPath) { declared() }
}

/// https://developer.apple.com/documentation/uikit/uinavigationcontroller
@MainActor open class UINavigationController: UIViewController {
    open func pushViewController(_ viewController: UIViewController, animated: Bool) { declared() }
}

/// https://developer.apple.com/documentation/uikit/uicontentconfiguration
@MainActor @preconcurrency public protocol UIContentConfiguration {}

/// https://developer.apple.com/documentation/uikit/uilistcontentconfiguration
@MainActor @preconcurrency public struct UIListContentConfiguration: UIContentConfiguration {
    public static func subtitleCell() -> UIListContentConfiguration { declared() }
    public var text: String?
    public var secondaryText: String?
}

/// https://developer.apple.com/documentation/foundation/indexpath
extension IndexPath {
    // …/indexpath/row, which UIKit adds
    public var row: Int { declared() }
}
