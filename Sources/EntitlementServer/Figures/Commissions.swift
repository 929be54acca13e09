import Primitives
import StoreModel

/// The shares that stores keep of the revenue, by source.
///
///     let commissions = try Commissions(["appStore=0.15"])
package struct Commissions: Sendable, Equatable {
    /// The shares in millionths.
    private var shares: [PurchaseSource: Int64]

    /// The App Store keeps 30 %, Google Play 15 %, and web shops nothing.
    package static let usual = Commissions(shares: [.appStore: 300_000, .googlePlay: 150_000, .web: 0])

    private init(shares: [PurchaseSource: Int64]) { self.shares = shares }

    /// Reads shares such as `appStore=0.15`. Sources that are not named keep their usual share.
    ///
    /// - Throws: A sentence that says what to write.
    package init(_ texts: [String]) throws(FigureSettingError) {
        self = .usual
        var named: Set<PurchaseSource> = []
        for text in texts {
            let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            let source = PurchaseSource(rawValue: parts[0])
            guard parts.count == 2, shares[source] != nil else {
                let names = shares.keys.sorted().map { "\($0.rawValue)=0.15" }.joined(separator: " or ")
                throw FigureSettingError("write a source and its share, such as \(names), instead of \"\(text)\"")
            }
            guard let share = DecimalText.integer(parts[1], decimals: 6), share <= 1_000_000 else {
                throw FigureSettingError(
                    "the share of \(source.rawValue) should be a number from 0 to 1 with at most six decimals, such as "
                        + "0.15, instead of \"\(parts[1])\"")
            }
            guard named.insert(source).inserted else {
                throw FigureSettingError("\(source.rawValue) has two shares; give one")
            }
            shares[source] = share
        }
    }

    /// Returns the part of the revenue that remains, in millionths. A source without a commission keeps nothing.
    func remainder(of source: PurchaseSource) -> Int64 { 1_000_000 - (shares[source] ?? 0) }

    /// The shares as decimal numbers, in the order of the sources.
    package var texts: [(source: String, share: String)] {
        shares.sorted { $0.key < $1.key }.map { ($0.key.rawValue, DecimalText.text(of: $0.value, decimals: 6)) }
    }
}
