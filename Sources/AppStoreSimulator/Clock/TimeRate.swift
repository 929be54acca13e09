/// How fast virtual time runs.
///
/// `real` and `frozen`; or a length of real time in which a month of 30 days passes: `2s`, `10s`, `30s`, `1m`, `5m`,
/// `15m`, and `monthly-30s`, which is `30s`. Those are the names of Xcode's renewal rates, but the clock has one speed for
/// every period: at `30s` a week lasts 7 seconds and a year 6 minutes. Dates in what the store signs are true to the
/// calendar at any rate.
public struct TimeRate: Sendable, Hashable, CustomStringConvertible {
    /// The name, as given.
    public let description: String
    /// Virtual seconds per real second; 0 is frozen.
    public let factor: Double

    public static let real = TimeRate(description: "real", factor: 1)
    public static let frozen = TimeRate(description: "frozen", factor: 0)

    /// Every name there is.
    public static let names = ["real", "frozen"] + lengths.map(\.name)

    private static let month = 30.0 * 86400
    private static let lengths: [(name: String, seconds: Double)] = [
        ("2s", 2), ("10s", 10), ("30s", 30), ("1m", 60), ("5m", 300), ("15m", 900), ("monthly-30s", 30),
    ]

    /// `nil` for a name that is not among `names`.
    public init?(_ name: String) {
        if let fixed = [Self.real, Self.frozen].first(where: { $0.description == name }) {
            self = fixed
        } else if let length = Self.lengths.first(where: { $0.name == name }) {
            self.init(description: name, factor: Self.month / length.seconds)
        } else {
            return nil
        }
    }

    /// The rate of that many virtual seconds per real second; of several names the first.
    init(factor: Double) {
        let named = Self.names.compactMap { TimeRate($0) }.first { $0.factor == factor }
        self = named ?? TimeRate(description: "\(factor)", factor: factor)
    }

    private init(description: String, factor: Double) {
        self.description = description
        self.factor = factor
    }
}
