import Primitives
import StoreModel

/// The package name of an Android app: 1 to 155 ASCII letters, digits, underscores and periods.
package struct PackageName: Identifier {
    package let rawValue: String

    package init(unchecked rawValue: String) { self.rawValue = rawValue }

    package static func isValid(_ text: String) -> Bool {
        (1...155).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "."):
                    true
                default: false
                }
            }
    }

    package static var rule: String { "1 to 155 letters and digits of ASCII, underscores and periods" }
}
