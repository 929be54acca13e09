/// Whether policies fit together: pure, so that the hub and a linter say the same.
struct PolicyReview {
    /// For each candidate the findings that keep it from running, in the order given.
    private(set) var errors: [[Hub.Finding]]
    /// For each candidate what is odd but harmless.
    private(set) var warnings: [[Hub.Finding]]

    /// - Parameters:
    ///   - members: the policies that hold already; a conflict with one is the candidate's fault.
    ///   - mayLackPartners: a message without receiver or publisher does not keep a candidate from running.
    init(candidates: [Policy], members: [Policy], mayLackPartners: Bool) {
        errors = candidates.map(Self.flaws)
        warnings = candidates.map(Self.oddities)
        findConflicts(candidates, members)
        if !mayLackPartners {
            let offered = Offer(members + candidates)
            for (index, candidate) in candidates.enumerated() {
                errors[index] += Self.gaps(in: candidate, offered, isPartialSet: false)
            }
        }
    }

    /// What is odd between plugins that run: messages one sends, or asks for, and none takes, and in a whole set events
    /// one publishes and none asks for.
    static func gaps(among policies: [Policy], isPartialSet: Bool) -> [Hub.Finding] {
        gapsOfEach(policies, isPartialSet: isPartialSet).flatMap { $0 }
    }

    static func gapsOfEach(_ policies: [Policy], isPartialSet: Bool) -> [[Hub.Finding]] {
        let offered = Offer(policies)
        let wanted = Set(policies.flatMap { $0.outgoing(.event) })
        return policies.map { policy in
            gaps(in: policy, offered, isPartialSet: true) + (isPartialSet ? [] : unheard(in: policy, wanted))
        }
    }

    /// Only events: a command or query that nobody sends is an offer, and offers are free.
    private static func unheard(in policy: Policy, _ wanted: Set<String>) -> [Hub.Finding] {
        policy.publish.events.unique.filter { !wanted.contains($0) }.map { event in
            FindingRule.nobodyListens.finding(
                plugin: policy.name, message: event, field: MessageKind.event.incomingList,
                "No plugin subscribes to the event \"\(event)\" that \"\(policy.name)\" publishes: add it to subscribe.events of one that needs it, or leave it: it does no harm.\(NearestName.hint(event, among: wanted))"
            )
        }
    }

    /// Names and receivers go to the plugin that was registered first.
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
                        "A plugin named \"\(policy.name)\" is registered already: give one of them another name."))
            }
            for kind in MessageKind.calls {
                for message in policy.incoming(kind).unique {
                    guard let first = receivers[kind]?[message] else { continue }
                    conflicts.append(
                        FindingRule.twoReceivers.finding(
                            plugin: policy.name, message: message, field: kind.incomingList,
                            "The \(kind.noun) \"\(message)\" is received by \"\(first)\" already: take it out of \(kind.incomingList) of \"\(policy.name)\" or of \"\(first)\"."
                        ))
                }
            }
            errors[index] += conflicts
            if conflicts.isEmpty { take(policy) }
        }
    }

    private static func flaws(of policy: Policy) -> [Hub.Finding] {
        func flaw(_ sentence: String, message: String? = nil, field: String) -> Hub.Finding {
            FindingRule.invalidPolicy.finding(plugin: policy.name, message: message, field: field, sentence)
        }
        var findings: [Hub.Finding] = []
        if let fault = NameRule.fault(of: policy.name) {
            findings.append(flaw("A plugin's name \(fault).", field: "name"))
        }
        for kind in MessageKind.allCases {
            for (list, messages) in policy.outgoingLists(kind) + [(kind.incomingList, policy.incoming(kind))] {
                for message in messages {
                    guard let fault = NameRule.fault(of: message) else { continue }
                    findings.append(
                        flaw("A name in \(list) of \"\(policy.name)\" \(fault).", message: message, field: list))
                }
            }
        }
        return findings
    }

    private static func oddities(of policy: Policy) -> [Hub.Finding] {
        [("send", policy.send.requests), ("receive", policy.receive.requests)].compactMap { side, requests in
            guard !requests.isEmpty else { return nil }
            return FindingRule.requests.finding(
                plugin: policy.name, message: requests[0], field: "\(side).requests",
                "\(side).requests of \"\(policy.name)\" is ignored: there are no request messages; send a command and subscribe to an event."
            )
        }
    }

    private static func gaps(in policy: Policy, _ offered: Offer, isPartialSet: Bool) -> [Hub.Finding] {
        MessageKind.allCases.flatMap { kind in
            policy.outgoing(kind).unique.filter { !offered.has($0, kind) }.map { message in
                let rule: FindingRule = kind == .event ? .noPublisher : .noReceiver
                let sentence =
                    kind == .event
                    ? "No plugin publishes the event \"\(message)\" that \"\(policy.name)\" subscribes to: register one that lists it in publish.events."
                    : "No plugin receives the \(kind.noun) \"\(message)\" that \"\(policy.name)\" sends: register one that lists it in \(kind.incomingList)."
                return rule.finding(
                    isPartialSet ? rule.partialSeverity : rule.severity, plugin: policy.name, message: message,
                    field: policy.outgoingLists(kind).first { $0.messages.contains(message) }?.list,
                    sentence + NearestName.hint(message, among: offered.names(kind)))
            }
        }
    }

    /// What a set of policies takes.
    private struct Offer {
        private var messages: [MessageKind: Set<String>] = [:]

        init(_ policies: [Policy]) {
            for kind in MessageKind.allCases { messages[kind] = Set(policies.flatMap { $0.incoming(kind) }) }
        }

        func has(_ message: String, _ kind: MessageKind) -> Bool { messages[kind]?.contains(message) ?? false }

        func names(_ kind: MessageKind) -> Set<String> { messages[kind] ?? [] }
    }
}

extension Policy {
    /// Everything that is wrong among `policies`, as a hub that starts plugins with them in this order would report it,
    /// without what only follows from a plugin being left out.
    public static func findings(among policies: [Policy], isPartialSet: Bool = false) -> [Hub.Finding] {
        placedFindings(among: policies, isPartialSet: isPartialSet).map(\.finding)
    }

    /// A finding, and where in the set of policies it is.
    package struct PlacedFinding: Sendable, Equatable {
        package let finding: Hub.Finding
        /// Which of the policies it is about; names may be given twice.
        package let index: Int
        /// Where in that policy's JSON, as an RFC 6901 pointer such as `/send/commands/1`.
        package let pointer: String
    }

    /// What `findings(among:isPartialSet:)` gives, each with its place.
    package static func placedFindings(among policies: [Policy], isPartialSet: Bool = false) -> [PlacedFinding] {
        let review = PolicyReview(candidates: policies, members: [], mayLackPartners: isPartialSet)
        let accepted = policies.indices.filter { review.errors[$0].isEmpty }
        let leftOut = policies.indices.filter { !review.errors[$0].isEmpty }.map { policies[$0] }
        let gaps = zip(accepted, PolicyReview.gapsOfEach(accepted.map { policies[$0] }, isPartialSet: isPartialSet))
            .map { index, findings in (index, findings.filter { finding in !leftOut.contains { $0.answers(finding) } })
            }
        let found = policies.indices.map { ($0, review.errors[$0] + review.warnings[$0]) } + gaps
        return found.flatMap { index, findings in
            findings.map { PlacedFinding(finding: $0, index: index, pointer: policies[index].pointer(to: $0)) }
        }
    }

    /// Whether this policy lists the partner that `finding` misses.
    private func answers(_ finding: Hub.Finding) -> Bool {
        guard let message = finding.message, let field = finding.field else { return false }
        return MessageKind.allCases.contains { kind in
            (field == kind.incomingList && outgoing(kind).contains(message))
                || (outgoingLists(kind).contains { $0.list == field } && incoming(kind).contains(message))
        }
    }

    /// Where in the JSON of this policy `finding` is; the first place if the message is listed twice.
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
            lists[kind.incomingList] = incoming(kind)
        }
        return lists
    }
}

extension MessageKind {
    /// The kinds that exactly one plugin receives.
    static let calls: [MessageKind] = [.command, .query, .viewQuery]
}

extension [String] {
    /// Each once, in the order of first appearance.
    var unique: [String] {
        var seen: Set<String> = []
        return filter { seen.insert($0).inserted }
    }
}
