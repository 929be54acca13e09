import AppStoreSimulator
import EntitlementServer
import Foundation
import InAppStore
import Primitives
import StoreModel

/// Checks catalogues of both stores, product lists, feature maps, retention rules, offer rules and refund policies. Detects the kind of
/// a file by its content.
struct CatalogueLint {
    typealias Finding = LintReport.Finding

    private let rules: ProductListRules
    private let key: ProductListKey?

    /// Throws `UsageError` for an invalid pattern, key or catalogue.
    init(_ arguments: Arguments) throws {
        let pattern: ProductListRules.Pattern?
        do {
            pattern = try arguments.text("identifiers").map { try ProductListRules.Pattern($0) }
        } catch {
            throw UsageError("--identifiers is not a valid regular expression: \(error)")
        }
        rules = ProductListRules(
            matching: pattern, ownFetchers: Set(arguments.texts("fetcher")),
            sold: try arguments.text("catalog").map { try CatalogueCommands.catalogue(in: $0).storeProducts })
        key = try ProductListKey(arguments)
    }

    func findings(in file: String) throws -> [Finding] {
        let bytes = try InputFile.read(file, limit: ProductList.sizeLimit)
        if EncryptedProductList.recognizes(bytes) {
            guard let key else { throw UsageError("\(file): the list is encrypted; \(ProductListKey.needed.sentence)") }
            return Self.findings(of: ProductList.lint(bytes, file: file, rules: rules, decryptor: key.cipher), in: file)
        }
        let document: JSONValue
        do {
            document = try JSONValue(parsing: bytes)
        } catch {
            return [Finding(isError: true, file: file, pointer: "", reason: "this is not JSON: \(error)")]
        }
        return LintReport.locating(findings(in: document, bytes, file), in: bytes)
    }

    private func findings(in document: JSONValue, _ bytes: [UInt8], _ file: String) -> [Finding] {
        if document.arrayValue != nil {
            return Self.findings(of: ProductList.lint(bytes, file: file, rules: rules), in: file)
        }
        if PlayCatalogue.recognizes(document) { return Self.findings(PlayCatalogue.lint(bytes, file: file), in: file) }
        if Catalogue.recognizes(document) { return Self.findings(Catalogue.lint(bytes, file: file), in: file) }
        if document["rules"] != nil {
            return Self.findings(in: file) { () throws(RulesError) in _ = try RetentionRules(json: document) }
        }
        if OfferRules.recognizes(document) {
            return Self.findings(in: file) { () throws(RulesError) in _ = try OfferRules(json: document) }
        }
        if RefundPolicy.recognizes(document) {
            do throws(RefundPolicyError) {
                _ = try RefundPolicy(parsing: bytes)
                return []
            } catch {
                return [Finding(isError: true, file: file, pointer: error.pointer, reason: error.reason)]
            }
        }
        guard document["features"] != nil else {
            let reason =
                "this is neither a catalogue of a store, nor a product list (an array), nor a feature map, nor "
                + "retention rules, nor offer rules, nor a refund policy"
            return [Finding(isError: true, file: file, pointer: "", reason: reason)]
        }
        do {
            _ = try FeatureMap(parsing: bytes)
            _ = try CreditTable(json: document)
            return []
        } catch let error as FeatureMapError {
            return [Finding(isError: true, file: file, pointer: error.pointer, reason: error.reason)]
        } catch {
            return [Finding(isError: true, file: file, pointer: "", reason: "\(error)")]
        }
    }

    private static func findings(_ found: [CatalogueFinding], in file: String) -> [Finding] {
        found.map {
            Finding(
                isError: $0.severity == .error || $0.code == .noProducts, file: file, pointer: $0.pointer,
                reason: $0.reason)
        }
    }

    private static func findings(in file: String, _ read: () throws(RulesError) -> Void) -> [Finding] {
        do { try read() } catch {
            return error.findings.map {
                Finding(isError: true, file: file, pointer: $0.pointer, reason: $0.reason)
            }
        }
        return []
    }

    private static func findings(
        of linted: (list: ProductList?, findings: [ProductListFinding]), in file: String
    ) -> [Finding] {
        let found = linted.findings.map(Finding.init)
        guard linted.list?.isEmpty == true else { return found }
        return found + [Finding(isError: true, file: file, pointer: "", reason: CatalogueCommands.sellsNothing)]
    }
}

extension LintReport.Finding {
    fileprivate init(_ finding: ProductListFinding) {
        self.init(
            isError: finding.severity == .error, file: finding.file, pointer: finding.pointer, reason: finding.reason)
    }
}
