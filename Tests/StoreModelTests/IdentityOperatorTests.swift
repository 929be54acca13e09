import StoreModel
import Testing

/// Compares identifiers without `import Primitives`, which declares their operators. The standard library's operators for
/// `RawRepresentable` would compare strings.
@Suite struct IdentityOperatorTests {
    @Test func `a file that does not import the operators compares bytes too`() {
        let (left, right) = (CustomerID(unchecked: "caf\u{E9}"), CustomerID(unchecked: "cafe\u{301}"))
        let isEqual = left == right
        let isOther = left != right
        #expect(!isEqual && isOther)
        #expect(![left].contains(right))
        #expect([left] != [right])
        #expect(Set([left, right]).count == 2)
        let (one, two) = (StoreEnvironment(rawValue: "caf\u{E9}"), StoreEnvironment(rawValue: "cafe\u{301}"))
        let areSame = one == two
        #expect(!areSame && one != two)
    }
}
