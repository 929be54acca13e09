import AppStoreSimulator
import Foundation
import InAppStore
import Primitives
import StoreModel

/// `souk catalog lint` and `souk catalog convert`.
enum CatalogCommands {
    static let lint = Command(
        words: ["catalog", "lint"], summary: "check StoreKit catalogues, product lists and feature maps",
        operands: ["FILE…"], options: [.init(name: "json", help: "print one JSON value")],
        details: "What a file is, is told by its content. Exit 1 for an error; warnings alone exit 0."
    ) { arguments in
        let findings = try arguments.operands.flatMap { try lint(file: $0) }
        return LintReport(files: arguments.operands.count, findings: findings).print(asJSON: arguments.has("json"))
    }

    static let convert = Command(
        words: ["catalog", "convert"], summary: "print the product list of a StoreKit catalogue",
        operands: ["FILE.storekit|-"]
    ) { arguments in
        Terminal.print(json: try catalogue(in: arguments.operands[0]).productList, pretty: true)
        return .success
    }

    /// A catalogue that a command needs; a malformed one is misuse, named with its file and place.
    static func catalogue(in file: String) throws -> Catalogue {
        do {
            return try Catalogue(parsing: try InputFile.read(file), file: file)
        } catch let error as CatalogError {
            throw Misuse(error.errors.first?.description ?? error.description)
        }
    }

    /// A feature map that a command needs.
    static func featureMap(in file: String) throws -> FeatureMap {
        do {
            return try FeatureMap(parsing: try InputFile.read(file))
        } catch let error as FeatureMapError {
            throw Misuse("\(file): \(error)")
        }
    }

    private static func lint(file: String) throws -> [LintReport.Finding] {
        let bytes = try InputFile.read(file)
        let document: JSONValue
        do {
            document = try JSONValue(parsing: bytes)
        } catch {
            return [.init(isError: true, file: file, pointer: "", reason: "this is not JSON: \(error)")]
        }
        if document.arrayValue != nil {
            return ProductList.lint(bytes, file: file).findings.map {
                .init(isError: $0.severity == .error, file: file, pointer: $0.pointer, reason: $0.reason)
            }
        }
        if Catalogue.recognizes(document) {
            return Catalogue.lint(bytes, file: file).map {
                .init(isError: $0.severity == .error, file: file, pointer: $0.pointer, reason: $0.reason)
            }
        }
        guard document["features"] != nil else {
            let reason = "this is neither a StoreKit catalogue, nor a product list (an array), nor a feature map"
            return [.init(isError: true, file: file, pointer: "", reason: reason)]
        }
        do {
            _ = try FeatureMap(parsing: bytes)
            return []
        } catch {
            return [.init(isError: true, file: file, pointer: error.pointer, reason: error.reason)]
        }
    }
}
