/// Who says what to whom in a hub, read from the policies of its plugins alone.
///
///     let graph = HubGraph(policies: policies)
///     print(graph.mermaid())
///
/// The order of the policies does not matter: plugins are ordered by name, channels by kind and name, so that the same
/// hub gives the same text every time.
public struct HubGraph: Sendable, Equatable {
    /// In the order of their names.
    public let plugins: [Plugin]
    /// Every message that a policy names, in the order of its kind and name.
    public let channels: [Channel]
    /// What does not fit, as `Policy.findings(among:isPartialSet:)` says it.
    public let findings: [Hub.Finding]

    /// - Parameters:
    ///   - policies: one for each plugin.
    ///   - isPartialSet: whether partners may be missing because other policies are not at hand.
    public init(policies: [Policy], isPartialSet: Bool = false) {
        let ordered = policies.enumerated().sorted { ($0.element.name, $0.offset) < ($1.element.name, $1.offset) }
            .map(\.element)
        plugins = Self.plugins(named: ordered.map(\.name))
        channels = MessageKind.allCases.flatMap { Self.channels($0, ordered) }
        findings = Policy.findings(among: policies, isPartialSet: isPartialSet)
    }
}

extension HubGraph {
    /// One plugin. Its `id` is its place among `plugins`.
    public struct Plugin: Sendable, Hashable, Identifiable {
        public let id: Int
        public let name: String
        /// The name, with a number where another plugin has the same.
        public let label: String
    }

    /// One message and those who exchange it.
    public struct Channel: Sendable, Hashable {
        public let kind: MessageKind
        public let message: String
        /// Who sends it; of an event, who publishes it.
        public let senders: [Plugin.ID]
        /// Who receives it; of an event, who subscribes to it.
        public let receivers: [Plugin.ID]
        /// The subscribers to whom the hub hands the event at launch.
        public let receiversAtLaunch: [Plugin.ID]

        /// Whether it goes from somebody to somebody.
        public var isConnected: Bool { !senders.isEmpty && !receivers.isEmpty }
    }

    /// One message from one plugin to another, in the direction it travels: a call from sender to receiver, an event from
    /// publisher to subscriber. Where nobody stands on the other side, that end is `nil`.
    public struct Link: Sendable, Hashable {
        public let kind: MessageKind
        public let message: String
        public let from: Plugin.ID?
        public let to: Plugin.ID?
    }

    /// All links, in the order of the channels.
    public var links: [Link] {
        channels.flatMap { channel in
            let senders: [Plugin.ID?] = channel.senders.isEmpty ? [nil] : channel.senders
            let receivers: [Plugin.ID?] = channel.receivers.isEmpty ? [nil] : channel.receivers
            return senders.flatMap { sender in
                receivers.map { Link(kind: channel.kind, message: channel.message, from: sender, to: $0) }
            }
        }
    }

    /// What one plugin says to another in messages of one kind: one arrow of a picture.
    public struct Arrow: Sendable, Hashable {
        public let kind: MessageKind
        public let from: Plugin.ID?
        public let to: Plugin.ID?
        public let messages: [String]
    }

    /// The links, those with the same kind and ends as one arrow.
    public var arrows: [Arrow] {
        let grouped = Dictionary(grouping: links) { Ends(kind: $0.kind, from: $0.from, to: $0.to) }
        return grouped.sorted { $0.key < $1.key }.map { ends, links in
            Arrow(kind: ends.kind, from: ends.from, to: ends.to, messages: links.map(\.message))
        }
    }

    private struct Ends: Hashable, Comparable {
        let kind: MessageKind
        let from: Plugin.ID?
        let to: Plugin.ID?

        private var rank: (Int, Int, Int) { (from ?? .max, to ?? .max, kind.place) }

        static func < (left: Ends, right: Ends) -> Bool { left.rank < right.rank }
    }
}

extension HubGraph {
    /// The first with a name keeps it; the others get a number, and never another plugin's name.
    private static func plugins(named names: [String]) -> [Plugin] {
        var taken = Set(names)
        var seen: Set<String> = []
        return names.enumerated().map { id, name in
            var label = name
            var number = 2
            while label == name ? seen.contains(name) : taken.contains(label) {
                label = "\(name) (\(number))"
                number += 1
            }
            seen.insert(name)
            taken.insert(label)
            return Plugin(id: id, name: name, label: label)
        }
    }

    private static func channels(_ kind: MessageKind, _ policies: [Policy]) -> [Channel] {
        var senders: [String: [Plugin.ID]] = [:]
        var receivers: [String: [Plugin.ID]] = [:]
        var atLaunch: [String: [Plugin.ID]] = [:]
        for (id, policy) in policies.enumerated() {
            // A policy lists what a plugin asks for and what it offers; an event travels from the offer to the asking.
            for message in policy.outgoing(kind).unique {
                if kind == .event {
                    receivers[message, default: []].append(id)
                } else {
                    senders[message, default: []].append(id)
                }
            }
            for message in policy.incoming(kind).unique {
                if kind == .event {
                    senders[message, default: []].append(id)
                } else {
                    receivers[message, default: []].append(id)
                }
            }
            guard kind == .event else { continue }
            for message in policy.subscribeAtAppLaunch.events.unique { atLaunch[message, default: []].append(id) }
        }
        return Set(senders.keys).union(receivers.keys).sorted().map { message in
            Channel(
                kind: kind, message: message, senders: senders[message] ?? [], receivers: receivers[message] ?? [],
                receiversAtLaunch: atLaunch[message] ?? [])
        }
    }
}

extension MessageKind {
    /// Its place in every list of kinds.
    var place: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}
