import AppStorePayloads
import Foundation
import Primitives
import StoreModel
import Testing

@testable import AppStoreSimulator

@Suite struct SendingRulesTests {
    @Test func `the default settings send nothing, and have the schedule of production`() {
        #expect(SendingRules([:]) == SendingRules())
        #expect(SendingRules([:]).url == nil)
        #expect(SendingRules([:]).schedule == .production)
    }

    @Test(
        arguments: [
            ("notificationsURL", "https://example.com/n", SendingRules(url: "https://example.com/n")),
            ("notificationsURL", "off", SendingRules()),
            ("notificationRetries", "sandbox", SendingRules(schedule: .once)),
            ("notificationRetries", "production", SendingRules()),
            ("notificationDuplicates", true, SendingRules(duplicates: true)),
            ("notificationDuplicates", false, SendingRules()),
            ("notificationsOutOfOrder", true, SendingRules(swapsNeighbours: true)),
        ] as [(String, JSONValue, SendingRules)])
    func `each setting changes one rule`(name: String, value: JSONValue, rules: SendingRules) {
        #expect(SendingRules([name: value]) == rules)
    }

    @Test func `a delivered notification is not due again`() {
        let rules = SendingRules(url: "http://example.com")
        #expect(rules.due(ifFailing: 1, begun: Fixtures.start, hasArrived: true) == nil)
        #expect(
            rules.due(ifFailing: 1, begun: Fixtures.start, hasArrived: false)
                == Fixtures.start.addingTimeInterval(3600))
        #expect(rules.due(ifFailing: 6, begun: Fixtures.start, hasArrived: false) == nil)
    }

    @Test(arguments: [
        (true, 1, AppStoreServerAPI.SendAttemptResult.success, true), (true, 2, .success, false),
        (true, 1, .timedOut, false), (false, 1, .success, false),
    ])
    func `only a first success is sent twice, and only with duplicates on`(
        duplicates: Bool, number: Int, result: AppStoreServerAPI.SendAttemptResult, repeats: Bool
    ) {
        var rules = SendingRules()
        rules.duplicates = duplicates
        #expect(rules.repeats(number, result) == repeats)
    }
}
