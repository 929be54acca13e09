import Foundation
import Primitives

/// The preferred date format of HTTP headers, IMF-fixdate (RFC 9110 section 5.6.7).
package enum HTTPDate {
    private static let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// Returns the text of an instant in seconds since 1970.
    package static func text(of seconds: Int64) -> String {
        let parts = Array(RFC3339.string(from: Date(timeIntervalSince1970: Double(seconds))).utf8)
        func text(_ range: Range<Int>) -> String { String(decoding: parts[range], as: UTF8.self) }
        let month = Int(parts[5] - 48) * 10 + Int(parts[6] - 48)
        let days = (seconds - (seconds % 86400 + 86400) % 86400) / 86400
        let weekday = Self.days[Int((days % 7 + 7) % 7)]
        return "\(weekday), \(text(8..<10)) \(months[month - 1]) \(text(0..<4)) \(text(11..<19)) GMT"
    }

    /// Returns the instant in seconds since 1970, or `nil` when `text` is not such a date.
    package static func seconds(_ text: String) -> Int64? {
        let words = text.split(separator: " ")
        guard words.count == 6, words[5] == "GMT", days.contains(where: { words[0] == "\($0)," }),
            let day = number(words[1]), let month = months.firstIndex(of: String(words[2])),
            let year = number(words[3]), (1...9999).contains(year)
        else { return nil }
        let time = words[4].split(separator: ":", omittingEmptySubsequences: false).map { number($0) ?? -1 }
        guard time.count == 3, (0...23).contains(time[0]), (0...59).contains(time[1]), (0...60).contains(time[2]),
            let days = RFC3339.days(year: year, month: Int64(month + 1), day: day)
        else { return nil }
        return days * 86400 + time[0] * 3600 + time[1] * 60 + time[2]
    }

    /// Returns `nil` for anything but digits. `Int64` would also accept a sign.
    private static func number(_ text: Substring) -> Int64? {
        text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ? Int64(text) : nil
    }
}
