import BaseTestSupport
import Foundation
import HTTPCore
import Testing

@Suite struct HTTPDateTests {
    /// The first is the example of RFC 9110 section 5.6.7.
    @Test(arguments: [
        ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
        ("Wed, 31 Dec 1969 23:59:59 GMT", -1), ("Tue, 29 Feb 2000 12:00:00 GMT", 951_825_600),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799), ("Mon, 01 Jan 0001 00:00:00 GMT", -62_135_596_800),
    ])
    func `a date is written and read in the form of RFC 9110`(text: String, seconds: Int64) {
        #expect(HTTPDate.text(of: seconds) == text)
        #expect(HTTPDate.seconds(text) == seconds)
    }

    @Test func `any instant is written as the C library writes it`() {
        var random = SeededNumbers(state: 9110)
        for _ in 0..<2000 {
            let seconds = Int64.random(in: -62_135_596_800...253_402_300_799, using: &random)
            var (instant, parts) = (time_t(seconds), tm())
            gmtime_r(&instant, &parts)
            var buffer = [CChar](repeating: 0, count: 64)
            _ = strftime(&buffer, buffer.count, "%a, %d %b %Y %H:%M:%S GMT", &parts)
            let year = String(Int(parts.tm_year) + 1900)
            // C omits the leading zeros of a year.
            let written = HTTPDate.text(of: seconds).replacing(" 0\(year) ", with: " \(year) ")
            let expected = String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init), as: UTF8.self)
            guard HTTPDate.seconds(HTTPDate.text(of: seconds)) == seconds, year.count < 3 || written == expected else {
                Issue.record("\(seconds) is written \(written) instead of \(expected)")
                return
            }
        }
    }

    @Test func `the leap second is read as the second after it`() {
        #expect(HTTPDate.seconds("Sat, 31 Dec 2016 23:59:60 GMT") == HTTPDate.seconds("Sun, 01 Jan 2017 00:00:00 GMT"))
    }

    @Test(arguments: [
        "", "now", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 06 Nov 1994 08:49:37 gmt",
        "Sun 06 Nov 1994 08:49:37 GMT", "Xyz, 06 Nov 1994 08:49:37 GMT", ", 06 Nov 1994 08:49:37 GMT",
        "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 31 Nov 1994 08:49:37 GMT", "Sun, 29 Feb 1900 08:49:37 GMT",
        "Sun, +6 Nov 1994 08:49:37 GMT", "Sun, 06 nov 1994 08:49:37 GMT", "Sun, 06 November 1994 08:49:37 GMT",
        "Sun, 06 Nov 0000 08:49:37 GMT", "Sun, 06 Nov -994 08:49:37 GMT", "Sun, 06 Nov 10000 08:49:37 GMT",
        "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:00 GMT", "Sun, 06 Nov 1994 08:49:61 GMT",
        "Sun, 06 Nov 1994 08:49 GMT", "Sun, 06 Nov 1994 08:49:37:00 GMT", "Sun, 06 Nov 1994 08:x:49:37 GMT",
        "Sun, 06 Nov 1994 08::49:37 GMT", "Sun, 06 Nov 1994 08:49:37: GMT", "Sun, 06 Nov 1994 08:49:-7 GMT",
        "Sun, 06 Nov 1994 +8:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
        "Sun, 06 Nov 1994 08:49:37 GMT x", "Sun, ٠٦ Nov 1994 08:49:37 GMT",
    ])
    func `a string in another form is not a date`(text: String) {
        #expect(HTTPDate.seconds(text) == nil)
    }
}
