import Primitives

/// One thing wrong, or doubtful, in a catalogue.
package struct CatalogueFinding: Sendable, Hashable, Codable, CustomStringConvertible {
    /// Closed: with an error the catalogue cannot be used, with a warning it can.
    package enum Severity: String, Sendable, Hashable, Codable { case error, warning }

    package var severity: Severity
    package var code: Code
    /// The file as the caller named it.
    package var file: String
    /// Where in the document (RFC 6901); empty for the whole.
    package var pointer: String
    /// A sentence: what is wrong and what should stand there.
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

/// Why a catalogue cannot be used: every finding of the file, errors and warnings. Equal when the errors' codes are.
package struct CatalogueError: Error, Equatable, Sendable, CustomStringConvertible {
    package let findings: [CatalogueFinding]

    package init(findings: [CatalogueFinding]) { self.findings = findings }

    package var errors: [CatalogueFinding] { findings.filter { $0.severity == .error } }

    /// The first error as a sentence that names the file and the place, and how many more there are.
    package var description: String {
        guard let first = errors.first else { return "The catalogue cannot be used." }
        let more = errors.count - 1
        return more == 0 ? "\(first)" : "\(first) (and \(more) more error\(more == 1 ? "" : "s"))"
    }

    package static func == (left: CatalogueError, right: CatalogueError) -> Bool {
        left.errors.map(\.code) == right.errors.map(\.code)
    }
}
