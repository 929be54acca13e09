import EntitlementServer
import Foundation
import Primitives

/// The options with the values that an operator gives for the figures: commissions and exchange rates.
enum FigureOptions {
    static let options: [Command.Option] = [
        .init(
            name: "commission", value: "SOURCE=SHARE", repeats: true,
            help: "the share that a store keeps, for the figure \"proceeds\" (appStore=0.3, googlePlay=0.15 and web=0)"),
        .init(
            name: "currency-rates", value: "FILE", repeats: true,
            help: "a JSON file with exchange rates, for figures in one currency"),
    ]

    /// Throws `UsageError` for values that cannot be used, with all errors of a file.
    static func settings(_ arguments: Arguments) throws -> FigureSettings {
        let tables = try arguments.texts("currency-rates").map(rates)
        let commissions: Commissions
        do { commissions = try Commissions(arguments.texts("commission")) } catch {
            throw UsageError("--commission: \(error)")
        }
        do { return try FigureSettings(commissions: commissions, rates: tables) } catch {
            throw UsageError("--currency-rates: \(error)")
        }
    }

    private static func rates(in path: String) throws -> CurrencyRates {
        do {
            return try CurrencyRates(try JSONValue(parsing: try InputFile.read(path, limit: 1 << 20)))
        } catch let error as JSONError {
            throw UsageError("\(path): this is not JSON: \(error)")
        } catch let error as FigureSettingErrors {
            throw UsageError(error.sentences.map { "\(path)\($0)" }.joined(separator: "; "))
        }
    }
}
