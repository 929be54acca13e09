import BaseTestSupport
import Foundation
import HostTestSupport
import Primitives
import SimulatorControl
import StoreModel
import Testing

@testable import AppStoreSimulator

/// The front desk in Chromium, used as a tester uses it.
@Suite(.outsideJudge(OutsideJudge.python != nil, "SOUK_PYTHON names no interpreter with playwright"), .serialized)
struct FrontDeskTests {
    @Test(arguments: [1280, 390])
    func `a newcomer creates an account, buys, advances a month and refunds`(width: Int) async throws {
        try await TestStore.with { test in
            let answers = try await test.browse(
                [
                    DeskStep.wait("!document.querySelector('#no-accounts').hidden"),
                    DeskStep.fill("#account-name", "anna"), DeskStep.press("Create account"),
                    DeskStep.wait("document.querySelector('#account-title')?.textContent === 'anna'"),
                    DeskStep.command, DeskStep.press("Buy monthly"), ["text": "#sheet-command"],
                ] + DeskStep.confirm + [
                    DeskStep.transactions(1), ["text": "#transactions tbody td.number"],
                    DeskStep.press("Advance by +1 month"),
                    DeskStep.transactions(2), ["text": "#transactions tbody td.number"], ["count": ".timeline .bar"],
                    ["text": ".legend"], DeskStep.click("#transactions tbody button"),
                    DeskStep.wait("document.querySelector('.more .jws pre') !== null"),
                    DeskStep.answer(
                        "document.querySelector('.more .jws pre').textContent.includes('\"alg\": \"ES256\"')"),
                    DeskStep.click(".more button:has-text(\"Refund\")"), ["text": "#sheet-warning"],
                ] + DeskStep.confirm + [
                    DeskStep.wait("document.querySelector('#transactions .pill').textContent === 'revoked'"),
                    DeskStep.fits,
                ], width: width)
            #expect(answers[0].stringValue?.contains("souk store account create anna --url http://127.0.0.1") == true)
            #expect(answers[1].stringValue?.contains("souk store buy anna monthly --url") == true)
            #expect(answers[2...4] == ["$0.00Free trial", "$4.99", 2])
            #expect(answers[5] == "Free trialPaid")
            #expect(
                answers[6] == true && answers[7].stringValue?.contains("loses access") == true && answers[8] == true)
            #expect(try await test.store.transactions(of: "anna").map(\.state) == ["expired", "revoked"])
        }
    }

    @Test func `actions on a subscription show their commands`() async throws {
        try await TestStore.with { test in
            try await test.store.createAccount("anna")
            try await test.store.set(.gracePeriod, to: "16d")
            try await test.buy("weekly")
            let actions: [(button: String, result: String, words: String)] = [
                ("Cancel weekly", "ends with its period", "cancel anna weekly"),
                ("Resume weekly", "renews to weekly", "resume anna weekly"),
                ("Renew now weekly", "next period is sold", "renew anna weekly"),
                ("Fail billing weekly", "Payments fail", "fail-billing anna weekly"),
                ("Advance by +1 month", "The time is", "advance P1M"),
                ("Resolve billing weekly", "Payments work again", "resolve-billing anna weekly"),
                ("Expire weekly", "period has ended", "expire anna weekly"),
            ]
            var steps: [JSONValue] = [DeskStep.transactions(1)]
            for action in actions {
                steps.append(DeskStep.press(action.button))
                if ["Resume weekly", "Expire weekly"].contains(action.button) { steps += DeskStep.confirm }
                steps += [DeskStep.result(action.result), DeskStep.command]
            }
            let answers = try await test.browse(steps)
            for (action, answer) in zip(actions, answers) {
                #expect(answer.stringValue?.hasPrefix("souk store \(action.words) --url http://") == true, "\(answer)")
            }
            #expect(try await test.store.subscriptions(of: "anna").map(\.status) == [.expired])
        }
    }

    @Test func `purchases that wait are approved and resolved`() async throws {
        try await TestStore.with { test in
            try await test.store.createAccount("anna")
            let answers = try await test.browse(
                [
                    DeskStep.wait("document.querySelector('#toggle-askToBuy') !== null"),
                    DeskStep.click("#toggle-askToBuy"),
                    DeskStep.result("Ask to Buy is on for anna"), DeskStep.command, DeskStep.press("Buy pack"),
                ] + DeskStep.confirm + [
                    DeskStep.result("waits for approval"),
                    DeskStep.wait("!document.querySelector('#waiting-box').hidden"),
                    DeskStep.click("#waiting button:has-text(\"Approve\")"), DeskStep.result("Sold pack"),
                    DeskStep.transactions(1),
                    DeskStep.click("#toggle-askToBuy"), DeskStep.result("Ask to Buy is off"),
                    DeskStep.click("#toggle-interruptedPurchases"), DeskStep.result("Interrupted purchases is on"),
                    DeskStep.press("Buy coins"),
                    DeskStep.fill("#field-quantity", "3"), ["text": "#sheet-command"],
                ] + DeskStep.confirm + [
                    DeskStep.result("interrupted"), DeskStep.click("#waiting button:has-text(\"Resolve\")"),
                    DeskStep.result("Sold coins"), DeskStep.transactions(2),
                ])
            #expect(answers[0].stringValue?.hasPrefix("souk store account set anna --ask-to-buy on --url") == true)
            #expect(answers[1].stringValue?.hasPrefix("souk store buy anna coins --quantity 3 --url") == true)
        }
    }

    @Test func `families, settings and prices change on the page`() async throws {
        try await TestStore.with { test in
            try await test.store.createAccount("anna")
            try await test.store.createAccount("bob")
            let fault = "[data-fault=\"errors.purchase\"]"
            let answers = try await test.browse(
                [
                    DeskStep.wait("document.querySelectorAll('#family-organizer option').length === 2"),
                    DeskStep.click("nav a:has-text(\"Families\")"), DeskStep.fill("#family-name", "home"),
                    DeskStep.press("Create family"), DeskStep.result("The family home is created"),
                    DeskStep.press("Add a member to the family home"),
                ] + DeskStep.confirm + [
                    DeskStep.wait("document.querySelectorAll('#families li li').length === 2"), ["focused": true],
                    DeskStep.press("Remove anna from home"), ["text": "#sheet-title"],
                ] + DeskStep.confirm + [
                    DeskStep.wait("document.querySelectorAll('#families li li').length === 0"),
                    DeskStep.click("nav a:has-text(\"Settings\")"),
                    ["select": "#fault-name", "option": "errors.purchase"],
                    ["select": .string("\(fault) select"), "option": "networkError"], DeskStep.press("Inject"),
                    DeskStep.result("errors.purchase is networkError"), DeskStep.command,
                    // The page reads the faults again after it has shown the result.
                    DeskStep.wait("document.querySelector('#faults-note').textContent === '1 injected fault'"),
                    ["text": "#faults-note"],
                    ["select": "#fault-name", "option": "latency.updates"],
                    DeskStep.fill("[data-fault=\"latency.updates\"] input", "2"), DeskStep.press("Inject"),
                    DeskStep.wait("document.querySelectorAll('#faults code').length === 2"), ["text": "#faults"],
                    DeskStep.press("Remove latency.updates"), DeskStep.result("latency.updates injects nothing"),
                    DeskStep.command, DeskStep.press("Remove errors.purchase"),
                    DeskStep.wait("document.querySelector('#faults-note').hidden"), ["text": "#faults"],
                    DeskStep.click("nav a:has-text(\"Accounts\")"), DeskStep.press("Increase price of monthly"),
                    DeskStep.fill("#field-price", "7.99"),
                ] + DeskStep.confirm + [DeskStep.result("7.99 from the next renewal on"), DeskStep.command])
            #expect(answers[0] == "Add a member" && answers[1].stringValue?.contains("end the family") == true)
            #expect(
                answers[2].stringValue?.hasPrefix("souk store settings set errors.purchase networkError --url") == true)
            #expect(answers[3] == "1 injected fault")
            #expect(answers[4] == "errors.purchase is networkErrorRemovelatency.updates is 2 sRemove")
            #expect(answers[5].stringValue?.hasPrefix("souk store settings set latency.updates 0 --url") == true)
            #expect(answers[6] == "No errors or latencies are injected.")
            #expect(answers[7].stringValue?.hasPrefix("souk store price-increase monthly 7.99 --url") == true)
            #expect(try test.store.settings().allSatisfy { !$0.name.hasPrefix("errors.") || $0.value == "off" })
            #expect(try test.store.families().isEmpty)
            #expect(try test.store.priceIncreases().map(\.productID) == ["monthly"])
        }
    }

    @Test func `a refusal is shown with the reason and what to do`() async throws {
        try await TestStore.with { test in
            try await test.store.createAccount("anna")
            try await test.store.change("anna", .init(canMakePayments: false))
            let answers = try await test.browse(
                [
                    DeskStep.wait("document.querySelector('#account-title').textContent === 'anna'"),
                    DeskStep.fill("#account-name", "anna"), DeskStep.press("Create account"),
                    DeskStep.wait("document.querySelector('#outcome.fault') !== null"), ["text": "#outcome"],
                    DeskStep.command,
                    DeskStep.press("Buy pack"), DeskStep.click("#sheet-go"),
                    DeskStep.wait("document.querySelector('#sheet-fault').textContent !== ''"),
                    ["text": "#sheet-fault"],
                    ["press": "Escape"], ["focused": true],
                ], refusals: 2)
            #expect(answers[0].stringValue?.hasSuffix("Choose another name.") == true)
            #expect(answers[1].stringValue?.hasPrefix("souk store account create anna --url") == true)
            #expect(answers[2].stringValue?.hasSuffix("Allow payments for the account.") == true, "\(answers[2])")
            #expect(answers[3] == "Buy")
        }
    }

    @Test func `changes outside of the page appear on it, and an idle page sends few requests`() async throws {
        try await TestStore.with { test in
            async let answers = test.browse([
                DeskStep.wait("document.querySelector('#no-accounts').hidden === false"),
                DeskStep.fill("#account-name", "anna"), DeskStep.press("Create account"), DeskStep.transactions(1),
                DeskStep.wait("document.querySelector('#now').textContent.includes('10 Mar')"),
                DeskStep.answer(
                    "(async () => { const count = () => performance.getEntriesByType('resource').length, before = count(); await new Promise((done) => setTimeout(done, 2500)); return count() - before < 25; })()"
                ),
            ])
            try await until("the account exists") { try test.store.accounts().contains("anna") }
            try await test.buy("pack")
            try await test.store.advance(to: Fixtures.date("2026-03-10T10:00:00Z"))
            #expect(try await answers == [true])
        }
    }
}
