import Primitives
import StoreModel

/// The token of a purchase at Google Play. With it the purchase can be read and acknowledged, so it is a credential:
/// its description does not contain it.
///
/// Google does not document the form of tokens. The rule accepts every string that can be a segment of a path.
package struct PurchaseToken: Identifier {
    package let rawValue: String

    package init(unchecked rawValue: String) { self.rawValue = rawValue }

    package static func isValid(_ text: String) -> Bool {
        (1...1024).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
            && ![".", ".."].contains(text)
    }

    package static var rule: String { "1 to 1024 visible characters of ASCII" }

    package var description: String { "a purchase token" }
}
