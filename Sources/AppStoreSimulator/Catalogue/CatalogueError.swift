import Primitives

/// A finding in a catalogue: an error or a warning.
package struct CatalogueFinding: Sendable, Hashable, Codable, CustomStringConvertible {
    /// The severity: a catalogue with an error cannot be used; a catalogue with warnings can. The set is closed.
    package enum Severity: String, Sendable, Hashable, Codable { case error, warning }

    package var severity: Severity
    package var code: Code
    /// The file as the caller named it.
    package var file: String
    /// The place in the document (RFC 6901); empty for the whole document.
    package var pointer: String
    /// A sentence that says what is wrong, and what is expected.
    package var reason: String

    package init(severity: Severity, code: Code, file: String, pointer: String, reason: String) {
        self.severity = severity
        self.code = code
        self.file = file
        self.pointer = pointer
        self.reason = reason
    }

    package var description: String {
        "\(file)\(pointer.isEmpty ? "" : " at \(pointer)"): \(severity == .warning ? "warning: " : "")\(reason)"
    }

    package struct Code: RawRepresentable, Hashable, Sendable, Codable {
        package let rawValue: String
        package init(rawValue: String) { self.rawValue = rawValue }

        package static let notJSON = Code(rawValue: "notJSON")
        package static let tooLarge = Code(rawValue: "tooLarge")
        package static let wrongShape = Code(rawValue: "wrongShape")
        package static let missingField = Code(rawValue: "missingField")
        package static let badIdentifier = Code(rawValue: "badIdentifier")
        package static let duplicateProduct = Code(rawValue: "duplicateProduct")
        package static let duplicateGroup = Code(rawValue: "duplicateGroup")
        package static let duplicateOffer = Code(rawValue: "duplicateOffer")
        package static let badPrice = Code(rawValue: "badPrice")
        package static let badPeriod = Code(rawValue: "badPeriod")
        package static let badCount = Code(rawValue: "badCount")
        package static let unknownType = Code(rawValue: "unknownType")
        package static let unknownPaymentMode = Code(rawValue: "unknownPaymentMode")
        package static let unknownStorefront = Code(rawValue: "unknownStorefront")
        package static let unknownVersion = Code(rawValue: "unknownVersion")
        package static let groupMismatch = Code(rawValue: "groupMismatch")
        package static let noProducts = Code(rawValue: "noProducts")
        package static let unknownTimeRate = Code(rawValue: "unknownTimeRate")
        package static let unknownError = Code(rawValue: "unknownError")
        package static let unknownAPI = Code(rawValue: "unknownAPI")
        package static let unknownEligibility = Code(rawValue: "unknownEligibility")
        package static let unknownBillingPlan = Code(rawValue: "unknownBillingPlan")
        package static let unusualPeriod = Code(rawValue: "unusualPeriod")
        package static let noSuchPlace = Code(rawValue: "noSuchPlace")
        package static let offerPeriod = Code(rawValue: "offerPeriod")
        package static let missingLevel = Code(rawValue: "missingLevel")
        package static let notShareable = Code(rawValue: "notShareable")
        package static let planPrice = Code(rawValue: "planPrice")
        package static let duplicateInternalID = Code(rawValue: "duplicateInternalID")
    }
}

/// The error for a catalogue that cannot be used, with all findings of the file. Two values are equal if the codes of
/// their errors are equal.
package struct CatalogueError: Error, Equatable, Sendable, CustomStringConvertible {
    package let findings: [CatalogueFinding]

    package init(findings: [CatalogueFinding]) { self.findings = findings }

    package var errors: [CatalogueFinding] { findings.filter { $0.severity == .error } }

    /// The first error with its file and place, and the number of further errors.
    package var description: String {
        guard let first = errors.first else { return "The catalogue cannot be used." }
        let more = errors.count - 1
        return more == 0 ? "\(first)" : "\(first) (and \(more) more error\(more == 1 ? "" : "s"))"
    }

    package static func == (left: CatalogueError, right: CatalogueError) -> Bool {
        left.errors.map(\.code) == right.errors.map(\.code)
    }
}
