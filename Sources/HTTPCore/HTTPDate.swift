import Foundation

/// The dates of HTTP headers (RFC 9110 section 5.6.7), in the form that is still written.
package enum HTTPDate {
    private static let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// Of seconds since 1970.
    package static func text(of seconds: Int64) -> String {
        let parts = calendar.dateComponents(
            [.year, .month, .day, .hour, .minute, .second], from: Date(timeIntervalSince1970: Double(seconds)))
        let day = Int(((seconds.quotientAndFloor(86400)) % 7 + 7) % 7)
        func two(_ number: Int?) -> String { String("0\(number ?? 0)".suffix(2)) }
        return "\(days[day]), \(two(parts.day)) \(months[(parts.month ?? 1) - 1]) \(parts.year ?? 1970) "
            + "\(two(parts.hour)):\(two(parts.minute)):\(two(parts.second)) GMT"
    }

    /// Seconds since 1970; `nil` for what is no such date.
    package static func seconds(_ text: String) -> Int64? {
        let words = text.split(separator: " ")
        guard words.count == 6, words[5] == "GMT", let day = Int(words[1]),
            let month = months.firstIndex(of: String(words[2])), let year = Int(words[3]), (1...31).contains(day)
        else { return nil }
        let time = words[4].split(separator: ":").compactMap { Int($0) }
        guard time.count == 3,
            let date = calendar.date(
                from: DateComponents(
                    year: year, month: month + 1, day: day, hour: time[0], minute: time[1], second: time[2]))
        else { return nil }
        return Int64(date.timeIntervalSince1970)
    }

    private static let calendar: Calendar = {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = TimeZone(secondsFromGMT: 0) ?? calendar.timeZone
        return calendar
    }()
}

extension Int64 {
    fileprivate func quotientAndFloor(_ divisor: Int64) -> Int64 {
        self >= 0 ? self / divisor : -((-self + divisor - 1) / divisor)
    }
}
