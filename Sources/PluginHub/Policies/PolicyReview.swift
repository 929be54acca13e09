/// The check of a set of policies. It is a pure value, so the hub and a linter report the same problems.
struct PolicyReview {
    /// The errors of each candidate, in the order of the candidates.
    private(set) var errors: [[Hub.Finding]]
    /// The warnings of each candidate, in the order of the candidates.
    private(set) var warnings: [[Hub.Finding]]

    /// Checks the candidates.
    ///
    /// - Parameters:
    ///   - candidates: The policies to check.
    ///   - members: The policies of running plugins; a conflict with one is an error of the candidate.
    ///   - allowsMissingPlugins: Whether a candidate can run although a message has no receiver or publisher.
    init(candidates: [Policy], members: [Policy], allowsMissingPlugins: Bool) {
        errors = candidates.map(Self.invalidNames)
        warnings = candidates.map(Self.ignoredRequests)
        findConflicts(candidates, members)
        if !allowsMissingPlugins {
            let available = AvailableMessages(members + candidates)
            for (index, candidate) in candidates.enumerated() {
                errors[index] += Self.gaps(in: candidate, available, isPartialSet: false)
            }
        }
    }

    /// Returns the problems between running plugins: messages without a receiver or publisher and, if the set is
    /// complete, events without a subscriber.
    static func gaps(among policies: [Policy], isPartialSet: Bool) -> [Hub.Finding] {
        gapsOfEach(policies, isPartialSet: isPartialSet).flatMap { $0 }
    }

    static func gapsOfEach(_ policies: [Policy], isPartialSet: Bool) -> [[Hub.Finding]] {
        let available = AvailableMessages(policies)
        let wanted = Set(policies.flatMap { $0.outgoing(.event) })
        return policies.map { policy in
            gaps(in: policy, available, isPartialSet: true)
                + (isPartialSet ? [] : unsubscribedEvents(in: policy, wanted))
        }
    }

    /// Returns the events without a subscriber. Commands and queries without a sender are not a problem.
    private static func unsubscribedEvents(in policy: Policy, _ wanted: Set<String>) -> [Hub.Finding] {
        policy.publish.events.unique.filter { !wanted.contains($0) }.map { event in
            FindingRule.noSubscriber.finding(
                plugin: policy.name, message: event, field: MessageKind.event.incomingListName,
                "No plugin subscribes to the event \"\(event)\" that \"\(policy.name)\" publishes: add it to subscribe.events of a plugin that needs it, or ignore this warning.\(NearestName.hint(event, among: wanted))"
            )
        }
    }

    /// Finds duplicate names and receivers. The plugin that was registered first keeps them.
    private mutating func findConflicts(_ candidates: [Policy], _ members: [Policy]) {
        var names = Set(members.map(\.name))
        var receivers: [MessageKind: [String: String]] = [:]
        func take(_ policy: Policy) {
            names.insert(policy.name)
            for kind in MessageKind.calls {
                for message in policy.incoming(kind) { receivers[kind, default: [:]][message] = policy.name }
            }
        }
        members.forEach(take)
        for (index, policy) in candidates.enumerated() {
            var conflicts: [Hub.Finding] = []
            if names.contains(policy.name) {
                conflicts.append(
                    FindingRule.duplicatePlugin.finding(
                        plugin: policy.name, field: "name",
                        "A plugin named \"\(policy.name)\" is already registered: give one of them another name."))
            }
            for kind in MessageKind.calls {
                for message in policy.incoming(kind).unique {
                    guard let first = receivers[kind]?[message] else { continue }
                    conflicts.append(
                        FindingRule.twoReceivers.finding(
                            plugin: policy.name, message: message, field: kind.incomingListName,
                            "The \(kind.noun) \"\(message)\" is already received by \"\(first)\": remove it from \(kind.incomingListName) of \"\(policy.name)\" or of \"\(first)\"."
                        ))
                }
            }
            errors[index] += conflicts
            if conflicts.isEmpty { take(policy) }
        }
    }

    private static func invalidNames(of policy: Policy) -> [Hub.Finding] {
        func finding(_ sentence: String, message: String? = nil, field: String) -> Hub.Finding {
            FindingRule.invalidPolicy.finding(plugin: policy.name, message: message, field: field, sentence)
        }
        var findings: [Hub.Finding] = []
        if let fault = NameRule.fault(of: policy.name) {
            findings.append(finding("A plugin's name \(fault).", field: "name"))
        }
        for kind in MessageKind.allCases {
            for (list, messages) in policy.outgoingLists(kind) + [(kind.incomingListName, policy.incoming(kind))] {
                for message in messages {
                    guard let fault = NameRule.fault(of: message) else { continue }
                    findings.append(
                        finding("A name in \(list) of \"\(policy.name)\" \(fault).", message: message, field: list))
                }
            }
        }
        return findings
    }

    private static func ignoredRequests(of policy: Policy) -> [Hub.Finding] {
        [("send", policy.send.requests), ("receive", policy.receive.requests)].compactMap { side, requests in
            guard !requests.isEmpty else { return nil }
            return FindingRule.requests.finding(
                plugin: policy.name, message: requests[0], field: "\(side).requests",
                "\(side).requests of \"\(policy.name)\" is ignored: there are no request messages; send a command and subscribe to an event."
            )
        }
    }

    private static func gaps(
        in policy: Policy, _ available: AvailableMessages, isPartialSet: Bool
    ) -> [Hub.Finding] {
        MessageKind.allCases.flatMap { kind in
            policy.outgoing(kind).unique.filter { !available.has($0, kind) }.map { message in
                let rule: FindingRule = kind == .event ? .noPublisher : .noReceiver
                let sentence =
                    kind == .event
                    ? "No plugin publishes the event \"\(message)\" that \"\(policy.name)\" subscribes to: register one that lists it in publish.events."
                    : "No plugin receives the \(kind.noun) \"\(message)\" that \"\(policy.name)\" sends: register one that lists it in \(kind.incomingListName)."
                return rule.finding(
                    isPartialSet ? rule.partialSeverity : rule.severity, plugin: policy.name, message: message,
                    field: policy.outgoingLists(kind).first { $0.messages.contains(message) }?.list,
                    sentence + NearestName.hint(message, among: available.names(kind)))
            }
        }
    }

    /// The messages that a set of policies receives or publishes.
    private struct AvailableMessages {
        private var messages: [MessageKind: Set<String>] = [:]

        init(_ policies: [Policy]) {
            for kind in MessageKind.allCases { messages[kind] = Set(policies.flatMap { $0.incoming(kind) }) }
        }

        func has(_ message: String, _ kind: MessageKind) -> Bool { messages[kind]?.contains(message) ?? false }

        func names(_ kind: MessageKind) -> Set<String> { messages[kind] ?? [] }
    }
}

extension Policy {
    /// Returns the problems that a hub reports when it starts plugins with these policies in this order. Does not
    /// report a missing receiver, publisher or subscriber that is in the set but was refused.
    ///
    /// - Parameters:
    ///   - policies: The policies, in the order of registration.
    ///   - isPartialSet: Whether receivers and publishers can be missing because their policies are not in the set.
    /// - Returns: The problems.
    public static func findings(among policies: [Policy], isPartialSet: Bool = false) -> [Hub.Finding] {
        placedFindings(among: policies, isPartialSet: isPartialSet).map(\.finding)
    }

    /// A finding with its position in the set of policies.
    package struct PlacedFinding: Sendable, Equatable {
        package let finding: Hub.Finding
        /// The index of the policy, because names can be duplicate.
        package let index: Int
        /// The position in the JSON of the policy as an RFC 6901 pointer, such as `/send/commands/1`.
        package let pointer: String
    }

    /// Returns the findings of `findings(among:isPartialSet:)` with their positions.
    package static func placedFindings(among policies: [Policy], isPartialSet: Bool = false) -> [PlacedFinding] {
        let review = PolicyReview(candidates: policies, members: [], allowsMissingPlugins: isPartialSet)
        let accepted = policies.indices.filter { review.errors[$0].isEmpty }
        let leftOut = policies.indices.filter { !review.errors[$0].isEmpty }.map { policies[$0] }
        let gaps = zip(accepted, PolicyReview.gapsOfEach(accepted.map { policies[$0] }, isPartialSet: isPartialSet))
            .map { index, findings in
                (index, findings.filter { finding in !leftOut.contains { $0.suppliesCounterpart(finding) } })
            }
        let found = policies.indices.map { ($0, review.errors[$0] + review.warnings[$0]) } + gaps
        return found.flatMap { index, findings in
            findings.map { PlacedFinding(finding: $0, index: index, pointer: policies[index].pointer(to: $0)) }
        }
    }

    /// Returns whether this policy has the receiver, publisher or subscriber that `finding` reports as missing.
    private func suppliesCounterpart(_ finding: Hub.Finding) -> Bool {
        guard let message = finding.message, let field = finding.field else { return false }
        return MessageKind.allCases.contains { kind in
            (field == kind.incomingListName && outgoing(kind).contains(message))
                || (outgoingLists(kind).contains { $0.list == field } && incoming(kind).contains(message))
        }
    }

    /// Returns the position of `finding` in the JSON of this policy. If the message is listed twice, the first
    /// position.
    private func pointer(to finding: Hub.Finding) -> String {
        guard let field = finding.field else { return "" }
        let place = "/" + field.split(separator: ".").joined(separator: "/")
        let index = finding.message.flatMap { lists[field]?.firstIndex(of: $0) }
        return index.map { "\(place)/\($0)" } ?? place
    }

    private var lists: [String: [String]] {
        var lists = ["send.requests": send.requests, "receive.requests": receive.requests]
        for kind in MessageKind.allCases {
            for (list, messages) in outgoingLists(kind) { lists[list] = messages }
            lists[kind.incomingListName] = incoming(kind)
        }
        return lists
    }
}

extension MessageKind {
    /// The kinds of messages that at most one plugin receives.
    static let calls: [MessageKind] = [.command, .query, .viewQuery]
}

extension [String] {
    /// Each string once, in the order of its first occurrence.
    var unique: [String] {
        var seen: Set<String> = []
        return filter { seen.insert($0).inserted }
    }
}
