/// The speed of virtual time.
///
/// Its name is `real`, `frozen`, or the real time in which a virtual month of 30 days passes: `2s`, `10s`, `30s`, `1m`,
/// `5m`, `15m`, and `monthly-30s`, which equals `30s`. These times are those of Xcode's renewal rates, but the clock
/// has one speed for every period: at `30s` a week takes 7 seconds and a year 6 minutes. The dates in signed documents
/// follow the calendar at any rate.
public struct TimeRate: Sendable, Hashable, CustomStringConvertible {
    /// The name, or the factor if no name has this factor.
    public let description: String
    /// The virtual seconds per real second; 0 is frozen.
    public let factor: Double

    /// Virtual time runs at the speed of real time.
    public static let real = TimeRate(description: "real", factor: 1)
    /// Virtual time moves only when a test advances it.
    public static let frozen = TimeRate(description: "frozen", factor: 0)

    /// All names of rates.
    public static let names = ["real", "frozen"] + lengths.map(\.name)

    private static let month = 30.0 * 86400
    private static let lengths: [(name: String, seconds: Double)] = [
        ("2s", 2), ("10s", 10), ("30s", 30), ("1m", 60), ("5m", 300), ("15m", 900), ("monthly-30s", 30),
    ]

    /// Creates the rate with a name; `nil` for a name that is not in ``names``.
    ///
    /// - Parameter name: The name.
    public init?(_ name: String) {
        if let fixed = [Self.real, Self.frozen].first(where: { $0.description == name }) {
            self = fixed
        } else if let length = Self.lengths.first(where: { $0.name == name }) {
            self.init(description: name, factor: Self.month / length.seconds)
        } else {
            return nil
        }
    }

    /// Creates the rate of `factor` virtual seconds per real second, with the first name that has this factor.
    init(factor: Double) {
        let named = Self.names.compactMap { TimeRate($0) }.first { $0.factor == factor }
        self = named ?? TimeRate(description: "\(factor)", factor: factor)
    }

    private init(description: String, factor: Double) {
        self.description = description
        self.factor = factor
    }
}
