import HTTPCore

extension HTTPHeaders {
    /// Returns the headers with their dates moved by this number of seconds.
    func moved(by seconds: Int64) -> HTTPHeaders {
        HTTPHeaders(
            fields.map { field in
                switch field.name.lowercased() {
                case "date", "expires", "last-modified":
                    .init(name: field.name, value: Self.date(field.value, movedBy: seconds) ?? field.value)
                case "set-cookie": .init(name: field.name, value: Self.cookie(field.value, movedBy: seconds))
                default: field
                }
            })
    }

    /// Moves a date. `nil` if the text is not a date or the result is out of range.
    private static func date(_ text: some StringProtocol, movedBy seconds: Int64) -> String? {
        // The date of a cookie may also have hyphens (RFC 6265 section 5.1.1).
        guard let date = HTTPDate.seconds(String(text).replacing("-", with: " ")) else { return nil }
        let (moved, isTooFar) = date.addingReportingOverflow(seconds)
        return isTooFar || !years.contains(moved) ? nil : HTTPDate.text(of: moved)
    }

    /// The range of years with four digits, in seconds since 1970.
    private static let years: Range<Int64> = -62_135_596_800..<253_402_300_800

    private static func cookie(_ text: String, movedBy seconds: Int64) -> String {
        text.split(separator: ";", omittingEmptySubsequences: false).map { attribute in
            let halves = attribute.split(separator: "=", maxSplits: 1)
            guard halves.count == 2, String(halves[0].drop { $0 == " " }).equalsIgnoringCase("expires") else {
                return String(attribute)
            }
            return date(halves[1], movedBy: seconds).map { "\(halves[0])=\($0)" } ?? String(attribute)
        }.joined(separator: ";")
    }
}
