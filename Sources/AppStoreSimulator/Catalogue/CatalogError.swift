import Primitives

/// One thing wrong, or doubtful, in a catalogue.
public struct CatalogueFinding: Sendable, Hashable, Codable, CustomStringConvertible {
    /// Closed: with an error the catalogue cannot be used, with a warning it can.
    public enum Severity: String, Sendable, Hashable, Codable { case error, warning }

    public var severity: Severity
    public var code: Code
    /// The file as the caller named it.
    public var file: String
    /// Where in the document (RFC 6901); empty for the whole.
    public var pointer: String
    /// A sentence: what is wrong and what should stand there.
    public var reason: String

    public init(severity: Severity, code: Code, file: String, pointer: String, reason: String) {
        self.severity = severity
        self.code = code
        self.file = file
        self.pointer = pointer
        self.reason = reason
    }

    public var description: String {
        "\(file)\(pointer.isEmpty ? "" : " at \(pointer)"): \(severity == .warning ? "warning: " : "")\(reason)"
    }

    public struct Code: RawRepresentable, Hashable, Sendable, Codable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        public static let notJSON = Code(rawValue: "notJSON")
        public static let tooLarge = Code(rawValue: "tooLarge")
        public static let wrongShape = Code(rawValue: "wrongShape")
        public static let missingField = Code(rawValue: "missingField")
        public static let badIdentifier = Code(rawValue: "badIdentifier")
        public static let duplicateProduct = Code(rawValue: "duplicateProduct")
        public static let duplicateGroup = Code(rawValue: "duplicateGroup")
        public static let duplicateOffer = Code(rawValue: "duplicateOffer")
        public static let badPrice = Code(rawValue: "badPrice")
        public static let badPeriod = Code(rawValue: "badPeriod")
        public static let badCount = Code(rawValue: "badCount")
        public static let unknownType = Code(rawValue: "unknownType")
        public static let unknownPaymentMode = Code(rawValue: "unknownPaymentMode")
        public static let unknownStorefront = Code(rawValue: "unknownStorefront")
        public static let unknownVersion = Code(rawValue: "unknownVersion")
        public static let groupMismatch = Code(rawValue: "groupMismatch")
        public static let noProducts = Code(rawValue: "noProducts")
        public static let unknownTimeRate = Code(rawValue: "unknownTimeRate")
        public static let unknownError = Code(rawValue: "unknownError")
        public static let unknownAPI = Code(rawValue: "unknownAPI")
        public static let unknownEligibility = Code(rawValue: "unknownEligibility")
        public static let unknownBillingPlan = Code(rawValue: "unknownBillingPlan")
        public static let unusualPeriod = Code(rawValue: "unusualPeriod")
        public static let noSuchPlace = Code(rawValue: "noSuchPlace")
        public static let offerPeriod = Code(rawValue: "offerPeriod")
        public static let missingLevel = Code(rawValue: "missingLevel")
        public static let notShareable = Code(rawValue: "notShareable")
        public static let planPrice = Code(rawValue: "planPrice")
        public static let duplicateInternalID = Code(rawValue: "duplicateInternalID")
    }
}

/// Why a catalogue cannot be used: every finding of the file, errors and warnings. Equal when the errors' codes are.
public struct CatalogError: Error, Equatable, Sendable, CustomStringConvertible {
    public let findings: [CatalogueFinding]

    public init(findings: [CatalogueFinding]) { self.findings = findings }

    public var errors: [CatalogueFinding] { findings.filter { $0.severity == .error } }

    /// The first error as a sentence that names the file and the place, and how many more there are.
    public var description: String {
        guard let first = errors.first else { return "The catalogue cannot be used." }
        let more = errors.count - 1
        return more == 0 ? "\(first)" : "\(first) (and \(more) more error\(more == 1 ? "" : "s"))"
    }

    public static func == (left: CatalogError, right: CatalogError) -> Bool {
        left.errors.map(\.code) == right.errors.map(\.code)
    }
}
