import AppStoreSimulator
import Foundation
import InAppStore
import Primitives
import StoreModel

/// `souk catalog`: checks, converts and encrypts the files that list products.
enum CatalogueCommands {
    static let lint = Command(
        words: ["catalog", "lint"],
        summary:
            "Check catalogues of both stores, product lists, feature maps, rules for retention and offers, and refund policies",
        operands: ["FILE…"],
        options: [
            .init(name: "identifiers", value: "PATTERN", help: "a regular expression for product identifiers"),
            .init(name: "fetcher", value: "TYPE", repeats: true, help: "the type of a content fetcher of the app"),
            .init(name: "catalog", value: "F.storekit", help: "compare product lists with this catalogue"),
        ] + ProductListKey.options + [.init(name: "json", help: "print one JSON value")],
        details: """
            The kind of a file is detected by its content. Exit 1 for an error; warnings alone exit 0.
            Only encrypted product lists need a key.
            """
    ) { arguments in
        let linter = try CatalogueLint(arguments)
        let findings = try arguments.operands.flatMap { try linter.findings(in: $0) }
        return try LintReport(files: arguments.operands.count, findings: findings).print(asJSON: arguments.has("json"))
    }

    static let encrypt = Command(
        words: ["catalog", "encrypt"], summary: "Encrypt a product list for an app", operands: ["FILE|-"],
        options: ProductListKey.options + [
            .init(name: "out", value: "FILE", help: "the output file; without it, or if it is -, standard output"),
            .init(name: "force", help: "replace the file if it exists"),
        ],
        details: """
            A list that has errors is not encrypted. The app decrypts the list with the same key:
            openssl rand -hex 32 > list.key
            souk catalog encrypt products.json --key-file list.key --out products.souklist
            souk catalog lint products.souklist --key-file list.key
            """
    ) { arguments in
        guard let key = try ProductListKey(arguments) else { throw ProductListKey.needed }
        let file = arguments.operands[0]
        let out = arguments.text("out") ?? "-"
        guard file == "-" || InputFile.absolute(out) != InputFile.absolute(file) else {
            throw UsageError("--out is the input file; name another file for the encrypted list")
        }
        let json = try InputFile.read(file, limit: ProductList.sizeLimit)
        guard !EncryptedProductList.recognizes(json) else { throw UsageError("\(file): the list is encrypted already") }
        let (list, findings) = ProductList.lint(json, file: file)
        if let fault = findings.first(where: { $0.severity == .error }) { throw UsageError("\(fault)") }
        guard list?.isEmpty != true else { throw UsageError("\(file): \(sellsNothing)") }
        let sealed = try EncryptedProductList.file(of: json) { try key.cipher.seal($0, authenticating: $1) }
        try OutputFile.write(sealed, to: out, overwriting: arguments.has("force"))
        return .success
    }

    static let convert = Command(
        words: ["catalog", "convert"], summary: "Print the product list of a StoreKit catalogue",
        operands: ["FILE.storekit|-"]
    ) { arguments in
        try Terminal.print(json: try catalogue(in: arguments.operands[0]).productList, pretty: true)
        return .success
    }

    /// The finding for a catalogue or a product list without a product.
    static let sellsNothing = "the file has no products; add one"

    /// Returns the catalogue of a file. Throws `UsageError` for a malformed file, with the place of the error, and for
    /// a file without products.
    static func catalogue(in file: String) throws -> Catalogue {
        do {
            let catalogue = try Catalogue(parsing: try InputFile.read(file), file: file)
            guard !catalogue.isEmpty else { throw UsageError("\(file): \(sellsNothing)") }
            return catalogue
        } catch let error as CatalogueError {
            throw UsageError(error.errors.first?.description ?? error.description)
        }
    }

    /// Returns the catalogue of Google Play in a file. Throws `UsageError`, as `catalogue(in:)` does.
    static func playCatalogue(in file: String) throws -> PlayCatalogue {
        do {
            let catalogue = try PlayCatalogue(parsing: try InputFile.read(file), file: file)
            guard !catalogue.isEmpty else { throw UsageError("\(file): \(sellsNothing)") }
            return catalogue
        } catch let error as CatalogueError {
            throw UsageError(error.errors.first?.description ?? error.description)
        }
    }

    /// Returns the feature map of a file. Throws `UsageError`.
    static func featureMap(in file: String) throws -> FeatureMap {
        do {
            return try FeatureMap(parsing: try InputFile.read(file))
        } catch let error as FeatureMapError {
            throw UsageError("\(file): \(error)")
        }
    }
}
