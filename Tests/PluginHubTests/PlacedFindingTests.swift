import PluginHub
import Testing

/// Findings have their positions in the policies.
@Suite struct PlacedFindingTests {
    private func places(_ policies: [Policy], isPartialSet: Bool = false) -> [String] {
        Policy.placedFindings(among: policies, isPartialSet: isPartialSet).map {
            "\($0.index) \($0.pointer) \($0.finding.severity.rawValue)"
        }
    }

    @Test func `the pointer of a message without a partner refers to its entry in a list`() {
        let policies = [
            Policy(name: "A", publish: ["known"]),
            Policy(
                name: "B", send: .init(commands: ["x"], queries: ["y"], viewControllerQueries: ["z"]),
                subscribe: ["known", "gone"], subscribeAtAppLaunch: ["lost"]),
        ]
        let lists = [
            "/send/commands/0", "/send/queries/0", "/send/viewControllerQueries/0", "/subscribe/events/1",
            "/subscribeAtAppLaunch/events/0",
        ]
        let errors = places(policies).filter { $0.hasSuffix("error") }
        #expect(errors == lists.map { "1 \($0) error" })
        let asSubset = places(policies, isPartialSet: true)
        #expect(asSubset.filter { $0.hasPrefix("1 ") } == lists.map { "1 \($0) warning" })
    }

    @Test func `a conflict is reported at the later policy`() {
        let policies = [
            Policy(name: "A", receive: .init(commands: ["one", "two"])),
            Policy(name: "A"),
            Policy(name: "B", receive: .init(commands: ["two"])),
        ]
        let errors = places(policies).filter { $0.hasSuffix("error") }
        #expect(errors == ["1 /name error", "2 /receive/commands/0 error"])
    }

    @Test func `invalid names and requests have a position`() {
        let policy = Policy(
            name: "A\n", send: .init(requests: ["r"]), subscribeAtAppLaunch: ["fine", ""])
        let found = places([policy], isPartialSet: true)
        #expect(found.contains("0 /name error"))
        #expect(found.contains("0 /subscribeAtAppLaunch/events/1 error"))
        #expect(found.contains("0 /send/requests/0 warning"))
    }

    @Test func `findings are the placed findings without positions`() {
        let policies = [Policy(name: "A", send: .init(commands: ["x"])), Policy(name: "A")]
        #expect(
            Policy.findings(among: policies) == Policy.placedFindings(among: policies).map(\.finding))
    }
}
