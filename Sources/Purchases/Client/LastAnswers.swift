import Foundation

/// The last answer of each plugin about one user.
struct LastAnswers<Value: Sendable>: Sendable {
    struct Entry: Sendable {
        var value: Value
        /// The number of the latest request.
        var number: Int
        /// Whether the latest request was answered.
        var isFresh: Bool
        /// The origin to report if the plugin fails and this value is used.
        var origin: AnswerOrigin
    }

    private var entries: [Int: Entry] = [:]

    subscript(index: Int) -> Entry? { entries[index] }

    mutating func record(_ value: Value, from index: Int, number: Int, asOf: Date) {
        guard entries[index].map({ $0.number < number }) ?? true else { return }
        entries[index] = Entry(value: value, number: number, isFresh: true, origin: AnswerOrigin(.memory, asOf: asOf))
    }

    /// Adds an answer of an earlier run. It does not replace a newer one.
    mutating func recall(_ value: Value, from index: Int, asOf: Date) {
        guard entries[index] == nil else { return }
        entries[index] = Entry(value: value, number: 0, isFresh: false, origin: AnswerOrigin(.disk, asOf: asOf))
    }

    /// Records a failed request and returns the previous answer.
    mutating func failed(_ index: Int, number: Int) -> Entry? {
        if let entry = entries[index], entry.number < number {
            entries[index]?.number = number
            entries[index]?.isFresh = false
        }
        return entries[index]
    }
}

struct PluginAnswer<Value: Sendable>: Sendable {
    let member: PurchaseSession.Member
    let result: Result<Value, any Error>
    let origin: AnswerOrigin?

    var error: (any Error)? {
        if case .failure(let error) = result { error } else { nil }
    }

    var report: PluginReport { PluginReport(pluginName: member.plugin.name, error: error, origin: origin) }
}
