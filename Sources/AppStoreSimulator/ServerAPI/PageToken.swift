import Foundation
import Primitives

/// A place in a list that is read by pages: where a page ended.
struct ListPosition: Sendable, Comparable {
    /// Microseconds since 1970.
    var at: Int64
    /// Tells apart what has one instant.
    var number: Int64

    static func < (left: Self, right: Self) -> Bool { (left.at, left.number) < (right.at, right.number) }
}

/// Places of one list as texts. Of which list a text is can be told, so that it is good for no other.
struct PageTokens: Sendable {
    /// What is listed, of whom, under which filters.
    let subject: String

    /// Closed: a place before everything, or one within.
    enum Place: Sendable, Equatable { case beginning, after(ListPosition) }

    func token(for place: Place) -> String {
        let text =
            switch place {
            case .beginning: "0_0"
            case .after(let position): "\(position.at)_\(position.number)"
            }
        return "\(text)_\(mark(of: text))"
    }

    /// `nil` for a text that is none of this list's.
    func place(of token: String) -> Place? {
        let parts = token.split(separator: "_", omittingEmptySubsequences: false)
        guard parts.count == 3, let at = Int64(parts[0]), let number = Int64(parts[1]),
            parts[2] == mark(of: "\(parts[0])_\(parts[1])")
        else { return nil }
        return number == 0 ? .beginning : .after(ListPosition(at: at, number: number))
    }

    private func mark(of place: String) -> String { Hex.encode(SHA256.hash("\(subject) \(place)".utf8).prefix(8)) }
}
