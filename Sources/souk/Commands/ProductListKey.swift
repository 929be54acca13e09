import Foundation
import SignedData

/// The key of an encrypted product list, from an option, a file or the environment. No message contains the key.
struct ProductListKey {
    static let variable = "SOUK_PRODUCT_LIST_KEY"
    static let options: [Command.Option] = [
        .init(
            name: "key", value: "HEX",
            help: "the key, 64 hexadecimal digits; other users can see it in the list of processes"),
        .init(name: "key-file", value: "FILE|-", help: "the file that holds the key; or set \(variable)"),
    ]

    let cipher: AES256GCM

    /// Returns the key of the options, else of the environment; `nil` without one. Throws `UsageError` for an invalid key.
    init?(_ arguments: Arguments) throws {
        let text: String
        let place: String
        switch (arguments.text("key"), arguments.text("key-file")) {
        case (_?, _?): throw UsageError("give --key or --key-file, not both")
        case (let typed?, nil): (text, place) = (typed, "--key")
        case (nil, let file?):
            guard file != "-" || !arguments.operands.contains("-") else {
                throw UsageError("- is standard input, which can be read once only")
            }
            (text, place) = (try InputFile.text(file), file)
        case (nil, nil):
            guard let set = ProcessInfo.processInfo.environment[Self.variable], !set.isEmpty else { return nil }
            (text, place) = (set, Self.variable)
        }
        do {
            cipher = try AES256GCM(hexKey: text)
        } catch {
            throw UsageError("\(place): the key of a product list is 64 hexadecimal digits; this is not")
        }
    }

    static let needed = UsageError(
        "a key is needed: --key-file FILE, or \(variable) in the environment; create one with openssl rand -hex 32")
}
