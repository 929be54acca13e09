import Foundation

/// A random duration, drawn anew each time, from zero to ``maximum``.
public struct Latency: Sendable, Hashable {
    /// The longest duration, one hour. A longer result is reduced to it.
    public static let maximum = Duration.seconds(3600)

    private enum Shape: Sendable, Hashable {
        case constant(Double)
        case uniform(Double, Double)
        case normal(mean: Double, deviation: Double)
        case exponential(mean: Double)
        case pareto(minimum: Double, shape: Double)
    }

    private let shape: Shape

    /// Always this `duration`.
    public static func constant(_ duration: Duration) -> Latency { Latency(shape: .constant(duration.seconds)) }

    /// A uniform distribution over this `range`.
    public static func uniform(_ range: ClosedRange<Duration>) -> Latency {
        Latency(shape: .uniform(range.lowerBound.seconds, range.upperBound.seconds))
    }

    /// A normal distribution. Negative values become zero.
    ///
    /// - Parameters:
    ///   - mean: The mean.
    ///   - deviation: The standard deviation.
    public static func normal(mean: Duration, deviation: Duration) -> Latency {
        Latency(shape: .normal(mean: mean.seconds, deviation: deviation.seconds))
    }

    /// An exponential distribution with this `mean`: mostly short, sometimes long.
    public static func exponential(mean: Duration) -> Latency { Latency(shape: .exponential(mean: mean.seconds)) }

    /// A Pareto distribution, which has the heavy tail of real networks.
    ///
    /// - Parameters:
    ///   - minimum: The shortest duration.
    ///   - shape: The shape. The smaller it is, the longer are the longest durations: 1.2 is harsh, 3 is mild.
    public static func pareto(minimum: Duration, shape: Double) -> Latency {
        Latency(shape: .pareto(minimum: minimum.seconds, shape: max(0.1, shape)))
    }

    func drawn(_ draws: inout SeededRandom) -> Duration {
        // Greater than zero, because the logarithm of zero is infinite.
        let unit = 1 - draws.unit()
        let seconds =
            switch shape {
            case .constant(let seconds): seconds
            case .uniform(let least, let most): least + (most - least) * unit
            case .normal(let mean, let deviation):
                mean + deviation * (-2 * log(unit)).squareRoot() * cos(2 * .pi * draws.unit())
            case .exponential(let mean): -mean * log(unit)
            case .pareto(let minimum, let shape): minimum / pow(unit, 1 / shape)
            }
        return .seconds(min(max(0, seconds), Self.maximum.seconds))
    }
}

extension Latency: CustomStringConvertible {
    public var description: String {
        switch shape {
        case .constant(let seconds): "\(seconds) s"
        case .uniform(let least, let most): "\(least) s to \(most) s"
        case .normal(let mean, let deviation): "\(mean) s ± \(deviation) s"
        case .exponential(let mean): "\(mean) s on average"
        case .pareto(let minimum, let shape): "\(minimum) s or more (Pareto, \(shape))"
        }
    }
}

extension Duration {
    fileprivate var seconds: Double { self / .seconds(1) }
}
