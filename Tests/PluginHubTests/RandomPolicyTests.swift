import Foundation
import PluginHub
import Testing

/// For random sets of policies, the hub delivers exactly the messages that a naive reading of their JSON permits.
@Suite struct RandomPolicyTests {
    /// SplitMix64, which gives the same sets in every run.
    private struct Generator: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }
    }

    private static let messages = ["a", "A", "b", "a.b", "ä"]
    private static let kinds: [(kind: MessageKind, key: String)] = [
        (.command, "commands"), (.query, "queries"), (.viewQuery, "viewControllerQueries"), (.event, "events"),
    ]

    /// Returns a policy file with some of its lists and with unknown members.
    private func file(_ name: String, of messages: [String], _ random: inout Generator) -> String {
        func list(_ random: inout Generator) -> String {
            let count = [0, 0, 1, 1, 2, 3].randomElement(using: &random) ?? 0
            let names = (0..<count).map { _ in messages.randomElement(using: &random) ?? "" }
            return "[" + names.map { "\"\($0)\"" }.joined(separator: ", ") + "]"
        }
        var members = ["\"name\": \"\(name)\""]
        for side in ["send", "receive"] where Bool.random(using: &random) || side == "send" {
            let keys = ["commands", "queries", "viewControllerQueries", "requests", "telepathies"]
            let lists = keys.filter { _ in Int.random(in: 0..<4, using: &random) > 0 }
                .map { "\"\($0)\": \(list(&random))" }
            members.append("\"\(side)\": {\(lists.joined(separator: ", "))}")
        }
        for side in ["publish", "subscribe", "subscribeAtAppLaunch", "hear"] where Bool.random(using: &random) {
            members.append("\"\(side)\": {\"events\": \(list(&random))}")
        }
        return "{" + members.shuffled(using: &random).joined(separator: ", ") + "}"
    }

    /// A naive reading of a policy: it answers each question from the JSON, without `Policy` and routes.
    private struct Reading {
        let name: String
        private let json: [String: Any]

        init(_ text: String) throws {
            json = try #require(JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
            name = try #require(json["name"] as? String)
        }

        private func list(_ side: String, _ key: String) -> [String] {
            (json[side] as? [String: Any])?[key] as? [String] ?? []
        }

        func maySend(_ message: String, _ key: String) -> Bool {
            key == "events"
                ? list("subscribe", key).contains(message) || list("subscribeAtAppLaunch", key).contains(message)
                : list("send", key).contains(message)
        }

        func takes(_ message: String, _ key: String) -> Bool {
            list(key == "events" ? "publish" : "receive", key).contains(message)
        }
    }

    /// Returns the policies that run. Of two with the same name, command or query, the first one runs. In a complete
    /// set, every message of a policy needs a receiver among all registered policies.
    private func running(_ readings: [Reading], isPartialSet: Bool) -> [Reading] {
        var kept: [Reading] = []
        var accepted: [Reading] = []
        for reading in readings {
            let clashes = kept.contains { other in
                other.name == reading.name
                    || Self.kinds.contains { kind, key in
                        kind != .event
                            && Self.messages.contains { reading.takes($0, key) && other.takes($0, key) }
                    }
            }
            if clashes { continue }
            kept.append(reading)
            let isAnswered = Self.kinds.allSatisfy { _, key in
                Self.messages.allSatisfy { message in
                    !reading.maySend(message, key) || readings.contains { $0.takes(message, key) }
                }
            }
            if isAnswered || isPartialSet { accepted.append(reading) }
        }
        return accepted
    }

    @Test(arguments: [true, false])
    func `the routing allows exactly what the JSON allows`(isPartialSet: Bool) throws {
        var random = Generator(state: isPartialSet ? 1 : 2)
        var deliveries = 0
        var refusals: [PluginError.Code: Int] = [:]
        var sizes: Set<Int> = []
        let messages = isPartialSet ? Self.messages : Array(Self.messages.prefix(2))
        for number in 0..<400 {
            let files = (0..<Int.random(in: 1...6, using: &random)).map { _ in
                file(
                    ["One", "Two", "Three", "Four", "Five"].randomElement(using: &random) ?? "", of: messages, &random)
            }
            let journal = Journal<String>()
            let hub = Hub(configuration: .init(isPartialSet: isPartialSet))
            for file in files { hub.register(try Policy(json: Array(file.utf8)), answering(journal)) }
            let report = hub.start()
            let readings = running(try files.map(Reading.init), isPartialSet: isPartialSet)
            let context = Comment(rawValue: "set \(number): \(files)")
            try #require(report.running == readings.map(\.name), context)
            sizes.insert(readings.count)
            for sender in readings {
                let plugin = try hub.scripted(sender.name)
                for (kind, key) in Self.kinds {
                    for message in Self.messages {
                        let before = journal.entries.count
                        var code: PluginError.Code?
                        do { try plugin.sendMessage(kind, Message(message)) } catch let error as PluginError {
                            code = error.code
                        }
                        let takers = readings.filter { $0.takes(message, key) }
                        let expected: PluginError.Code? =
                            !sender.maySend(message, key) ? .notAllowed : takers.isEmpty ? .noReceiver : nil
                        try #require(code == expected, context)
                        let delivered = expected == nil ? takers.map { "\($0.name) \(kind.rawValue) \(message)" } : []
                        try #require(Array(journal.entries.dropFirst(before)) == delivered, context)
                        deliveries += delivered.count
                        if let code { refusals[code, default: 0] += 1 }
                    }
                }
            }
        }
        // Without these cases the sets would prove nothing.
        #expect(deliveries > 100)
        #expect(refusals[.notAllowed, default: 0] > 1000)
        if isPartialSet { #expect(refusals[.noReceiver, default: 0] > 100) }
        #expect(sizes.count > 3)
    }
}
