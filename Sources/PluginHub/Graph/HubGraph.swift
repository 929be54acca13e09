/// The plugins of a hub and the messages between them, read from their policies.
///
///     let graph = HubGraph(policies: policies)
///     print(graph.mermaid())
///
/// Plugins are ordered by name, and channels by kind and name. So they do not depend on the order of the policies, and
/// the same hub always gives the same text.
public struct HubGraph: Sendable, Equatable {
    /// The plugins, ordered by name.
    public let plugins: [Plugin]
    /// Every message that a policy lists, ordered by kind and name.
    public let channels: [Channel]
    /// The problems that `Policy.findings(among:isPartialSet:)` reports.
    public let findings: [Hub.Finding]

    /// Creates the graph of a set of policies.
    ///
    /// - Parameters:
    ///   - policies: One policy for each plugin.
    ///   - isPartialSet: Whether receivers and publishers can be missing because their policies are not in the set.
    public init(policies: [Policy], isPartialSet: Bool = false) {
        let ordered = policies.enumerated().sorted { ($0.element.name, $0.offset) < ($1.element.name, $1.offset) }
            .map(\.element)
        plugins = Self.plugins(named: ordered.map(\.name))
        channels = MessageKind.allCases.flatMap { Self.channels($0, ordered) }
        findings = Policy.findings(among: policies, isPartialSet: isPartialSet)
    }
}

extension HubGraph {
    /// A plugin of the graph.
    public struct Plugin: Sendable, Hashable, Identifiable {
        /// The index of the plugin in `plugins`.
        public let id: Int
        /// The name from the policy.
        public let name: String
        /// The name, followed by a number if an earlier plugin of `plugins` has the same name.
        public let label: String
    }

    /// A message with its senders and receivers.
    public struct Channel: Sendable, Hashable {
        /// The kind of the message.
        public let kind: MessageKind
        /// The name of the message.
        public let message: String
        /// The senders, or for an event the publishers.
        public let senders: [Plugin.ID]
        /// The receivers, or for an event the subscribers.
        public let receivers: [Plugin.ID]
        /// The subscribers that receive the event's publisher at launch.
        public let receiversAtLaunch: [Plugin.ID]

        /// Whether the message has a sender and a receiver.
        public var isConnected: Bool { !senders.isEmpty && !receivers.isEmpty }
    }

    /// A message from one plugin to another, in its direction: from sender to receiver, or from publisher to
    /// subscriber. A missing plugin is `nil`.
    public struct Link: Sendable, Hashable {
        /// The kind of the message.
        public let kind: MessageKind
        /// The name of the message.
        public let message: String
        /// The sender or publisher.
        public let from: Plugin.ID?
        /// The receiver or subscriber.
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

    /// The messages of one kind from one plugin to another, as one arrow of a diagram.
    public struct Arrow: Sendable, Hashable {
        /// The kind of the messages.
        public let kind: MessageKind
        /// The sender or publisher.
        public let from: Plugin.ID?
        /// The receiver or subscriber.
        public let to: Plugin.ID?
        /// The names of the messages.
        public let messages: [String]
    }

    /// The links, combined by kind and plugins.
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
    /// Assigns labels. The first plugin with a name keeps it. The others get a number. No label equals the name of
    /// another plugin.
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
            // For events, `incoming` lists what the plugin publishes, and `outgoing` lists what it subscribes to.
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
    /// The position of the kind in all lists.
    var place: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}
