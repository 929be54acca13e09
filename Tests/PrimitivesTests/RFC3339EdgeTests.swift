import BaseTestSupport
import Foundation
import Primitives
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

@Suite struct RFC3339EdgeTests {
    /// Returns the text of an instant by the C library's calendar.
    private func textOfCLibrary(_ seconds: Int) -> String {
        var (instant, parts) = (time_t(seconds), tm())
        gmtime_r(&instant, &parts)
        func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let year = String(Int(parts.tm_year) + 1900)
        return String(repeating: "0", count: 4 - year.count) + year + "-\(two(parts.tm_mon + 1))-\(two(parts.tm_mday))"
            + "T\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec))Z"
    }

    @Test func `the seconds around each 1 January and each 1 March are as in the C library`() throws {
        for year in 0...9999 {
            for end in ["03-01", "01-01"] {
                let padded = String(repeating: "0", count: 4 - String(year).count) + String(year)
                let date = try #require(RFC3339.date(from: "\(padded)-\(end)T00:00:00Z"))
                for second in [-1, 0] where year > 0 || second == 0 {
                    let seconds = Int(date.timeIntervalSince1970) + second
                    let text = textOfCLibrary(seconds)
                    guard RFC3339.string(from: Date(timeIntervalSince1970: Double(seconds))) != text else { continue }
                    Issue.record("\(seconds) is \(text)")
                    return
                }
            }
        }
    }

    @Test func `any instant is written as the C library has it, and read back`() {
        var random = SeededNumbers(state: 18)
        for _ in 0..<5000 {
            let seconds = Int.random(in: -62_167_219_200...253_402_300_799, using: &random)
            let date = Date(timeIntervalSince1970: Double(seconds))
            let text = RFC3339.string(from: date)
            guard text == textOfCLibrary(seconds), RFC3339.date(from: text) == date else {
                Issue.record("\(seconds) is written \(text) instead of \(textOfCLibrary(seconds))")
                return
            }
        }
    }

    @Test(arguments: [
        ("2000-02-29", true), ("1900-02-29", false), ("2100-02-29", false), ("2400-02-29", true), ("2024-02-29", true),
        ("2023-02-29", false), ("0000-02-29", true), ("0004-02-29", true), ("0100-02-29", false), ("2026-01-31", true),
        ("2026-04-31", false), ("2026-06-31", false), ("2026-09-31", false), ("2026-11-31", false),
        ("2026-12-32", false), ("2026-01-00", false), ("2026-00-01", false), ("2026-13-01", false),
        ("9999-12-31", true),
    ])
    func `a day exists as in the Gregorian calendar`(day: String, exists: Bool) {
        #expect((RFC3339.date(from: day + "T12:00:00Z") != nil) == exists)
    }

    @Test(arguments: [
        ("2026-01-01T00:00:00.5Z", 0.5), ("2026-01-01T00:00:00.001Z", 0.001), ("2026-01-01T00:00:00.000Z", 0),
        ("2026-01-01T00:00:00.123456789012345678901234567890Z", 0.123456789012345678),
        ("2026-01-01t00:00:00z", 0), ("2026-01-01T23:59:00+23:59", 0), ("2025-12-31T00:01:00-23:59", 0),
        ("2026-01-01T00:00:00-00:00", 0), ("2025-12-31T23:59:60Z", 0),
    ])
    func `every form of RFC 3339 is read`(text: String, seconds: Double) throws {
        let date = try #require(RFC3339.date(from: text))
        #expect(abs(date.timeIntervalSince1970 - 1_767_225_600 - seconds) < 1e-6)
    }

    @Test(arguments: [
        "2026-01-01T00:00:00.Z", "2026-01-01T00:00:00,5Z", "2026-01-01T00:00:00+24:00", "2026-01-01T00:00:00+00:60",
        "2026-01-01T00:00:00+0000", "2026-01-01T00:00:00+00", "2026-01-01T00:00:00ZZ", "2026-01-01T00:00:00Z ",
        " 2026-01-01T00:00:00Z", "2026-01-01 00:00:00Z", "2026-01-01T24:00:00Z", "2026-01-01T00:60:00Z",
        "2026-01-01T00:00:61Z", "26-01-01T00:00:00Z", "+2026-01-01T00:00:00Z", "12026-01-01T00:00:00Z",
        "2026-1-01T00:00:00Z", "2026-01-01T0:00:00Z", "2026/01/01T00:00:00Z", "٢٠٢٦-01-01T00:00:00Z",
        "2026-01-01T00:00:00\u{2212}01:00", "2026-01-01T00:00:-1Z", "2026-01-01T00:00:00.-5Z",
        "9999-12-31T23:59:60Z",
    ])
    func `a text in another form, or beyond the year 9999, is refused`(text: String) {
        #expect(RFC3339.date(from: text) == nil)
    }

    @Test(arguments: [
        (-0.001, "1969-12-31T23:59:59.999Z"), (0.0004, "1970-01-01T00:00:00Z"), (0.0006, "1970-01-01T00:00:00.001Z"),
        (0.9996, "1970-01-01T00:00:01Z"), (0.07, "1970-01-01T00:00:00.070Z"), (-86_400.5, "1969-12-30T23:59:59.500Z"),
    ])
    func `an instant is rounded to the millisecond`(seconds: Double, text: String) {
        #expect(RFC3339.string(from: Date(timeIntervalSince1970: seconds)) == text)
    }
}
