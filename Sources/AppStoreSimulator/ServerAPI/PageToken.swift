import Foundation
import Primitives

/// A position in a paged list: the end of a page.
struct ListPosition: Sendable, Comparable {
    /// Microseconds since 1970.
    var at: Int64
    /// The number that distinguishes entries of the same instant.
    var number: Int64

    static func < (left: Self, right: Self) -> Bool { (left.at, left.number) < (right.at, right.number) }
}

/// The page tokens of one list. A token contains a hash of its list's identity and is not valid for another list.
struct PageTokens: Sendable {
    /// The identity of the list: its kind, its customer and its filters.
    let subject: String

    /// The beginning of the list, or a position in it. The set is closed.
    enum Place: Sendable, Equatable { case beginning, after(ListPosition) }

    func token(for place: Place) -> String {
        let text =
            switch place {
            case .beginning: "0_0"
            case .after(let position): "\(position.at)_\(position.number)"
            }
        return "\(text)_\(hash(of: text))"
    }

    /// Returns the place of a token; `nil` for a string that is not a token of this list.
    func place(of token: String) -> Place? {
        let parts = token.split(separator: "_", omittingEmptySubsequences: false)
        guard parts.count == 3, let at = Int64(parts[0]), let number = Int64(parts[1]),
            parts[2] == hash(of: "\(parts[0])_\(parts[1])")
        else { return nil }
        return number == 0 ? .beginning : .after(ListPosition(at: at, number: number))
    }

    private func hash(of place: String) -> String { Hex.encode(SHA256.hash("\(subject) \(place)".utf8).prefix(8)) }
}
