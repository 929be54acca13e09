import Foundation
import HostTestSupport
import Primitives
import SimulatorControl
import StoreModel
import Testing

@testable import AppStoreSimulator

/// The actions of the front desk for transactions, devices, notifications, offers and the clock, in Chromium.
@Suite(.outsideJudge(OutsideJudge.python != nil, "SOUK_PYTHON names no interpreter with playwright"), .serialized)
struct FrontDeskActionTests {
    private let firstState = "document.querySelector('#transactions .pill').textContent"

    @Test func `refunds are requested, declined, given and reversed`() async throws {
        try await TestStore.with { test in
            let pack = try await test.buy("pack").transactionID
            func press(_ label: String) -> JSONValue { DeskStep.press("\(label) \(pack)") }
            let answers = try await test.browse(
                [DeskStep.transactions(1), DeskStep.click("#transactions tbody button"), press("Request refund")]
                    + [["select": "#field-reason", "option": "legal"]] + DeskStep.confirm
                    + [DeskStep.result("is requested"), DeskStep.command, press("Decline refund")]
                    + [DeskStep.result("is declined"), press("Refund"), DeskStep.fill("#field-percentage", "50")]
                    + DeskStep.confirm + [DeskStep.result("is refunded"), DeskStep.command]
                    + [DeskStep.wait("\(firstState) === 'revoked'"), press("Reverse refund")]
                    + [DeskStep.result("is reversed"), DeskStep.wait("\(firstState) === 'purchased'"), press("Revoke")]
                    + DeskStep.confirm + [DeskStep.wait("\(firstState) === 'revoked'"), DeskStep.command])
            #expect(answers[0].stringValue?.hasPrefix("souk store request-refund \(pack) --reason legal --url") == true)
            #expect(answers[1].stringValue?.hasPrefix("souk store refund \(pack) --percentage 50 --url") == true)
            #expect(answers[2].stringValue?.hasPrefix("souk store revoke \(pack) --url") == true)
        }
    }

    @Test func `seats are assigned, shown and removed, and their number is set`() async throws {
        try await TestStore.with { test in
            try await test.store.createAccount("bob")
            try await test.store.set(.seatInvitations, to: "apple")
            try await test.buy("weekly", quantity: 3)
            func isShown(_ text: String) -> JSONValue {
                DeskStep.wait("document.querySelector('#subscriptions').textContent.includes('\(text)')")
            }
            let answers = try await test.browse(
                [isShown("3 seats, 3 free."), DeskStep.press("Assign a seat weekly")] + DeskStep.confirm
                    + [DeskStep.result("bob has a seat"), DeskStep.command, isShown("3 seats, 2 free: bob.")]
                    + [DeskStep.press("Set seats weekly"), DeskStep.fill("#field-count", "2")] + DeskStep.confirm
                    + [DeskStep.result("renews with 2 seats"), DeskStep.command]
                    + [DeskStep.press("Remove a seat weekly")] + DeskStep.confirm
                    + [DeskStep.result("bob has no seat"), DeskStep.command, isShown("3 seats, 3 free.")])
            #expect(answers[0].stringValue?.hasPrefix("souk store seats assign anna weekly bob --url") == true)
            #expect(answers[1].stringValue?.hasPrefix("souk store seats set anna weekly 2 --url") == true)
            #expect(answers[2].stringValue?.hasPrefix("souk store seats remove anna weekly bob --url") == true)
        }
    }

    @Test func `prices are those of the account's storefront, and a device moves between accounts`() async throws {
        try await TestStore.with { test in
            try await test.store.createAccount("anna", storefront: "DEU")
            try await test.store.createAccount("bob")
            let price: JSONValue = ["text": "#products .price"]
            let answers = try await test.browse(
                [DeskStep.wait("document.querySelector('#products .price') !== null"), price]
                    + [
                        DeskStep.press("Sign in a new device"), DeskStep.result("is signed in to anna"),
                        DeskStep.command,
                    ]
                    + [DeskStep.click("#account li button:has-text(\"Switch account\")")] + DeskStep.confirm
                    + [DeskStep.result("is signed in to bob"), DeskStep.click("#accounts a:has-text(\"bob\")")]
                    + [DeskStep.wait("document.querySelector('#account-title').textContent === 'bob'")]
                    + [DeskStep.wait("document.querySelector('#products .price').textContent === '$0.99'")]
                    + [DeskStep.click("#account li button:has-text(\"Sign out\")")] + DeskStep.confirm
                    + [DeskStep.result("is signed out"), DeskStep.command])
            #expect(answers[0].stringValue?.contains("€") == true, "\(answers)")
            #expect(answers[1].stringValue?.hasPrefix("souk store device sign-in anna --url") == true)
            #expect(answers[2].stringValue?.hasPrefix("souk store device sign-out ") == true)
            for account: AccountName in ["anna", "bob"] { #expect(try test.store.devices(of: account).isEmpty) }
        }
    }

    @Test func `a purchase is made for the chosen device, which gets the result, and an injected error is shown`()
        async throws
    {
        try await TestStore.with { test in
            let phone = try await Listener(test), other = try await Listener(test)
            try await test.store.set(.errors(.purchase), to: "networkError")
            let choose: JSONValue = ["select": "#field-device", "option": .string(phone.device.rawValue)]
            let isRefused = DeskStep.wait("document.querySelector('#sheet-fault').textContent !== ''")
            let steps: [[JSONValue]] = [
                [DeskStep.press("Buy pack"), choose, ["text": "#sheet-command"], DeskStep.click("#sheet-go")],
                [isRefused, ["text": "#sheet-fault"], ["press": "Escape"]],
                [DeskStep.click("nav a:has-text(\"Settings\")"), DeskStep.press("Remove errors.purchase")],
                [DeskStep.result("injects nothing"), DeskStep.click("nav a:has-text(\"Accounts\")")],
                [DeskStep.press("Buy pack"), choose], DeskStep.confirm,
                [DeskStep.result("Sold pack"), DeskStep.transactions(1), DeskStep.command],
            ]
            let answers = try await test.browse(steps.flatMap { $0 }, refusals: 1)
            let command = "souk store buy anna pack --device \(phone.device) --url"
            #expect(answers[0].stringValue?.hasPrefix(command) == true, "\(answers[0])")
            #expect(answers[1].stringValue?.contains("errors.purchase") == true, "\(answers[1])")
            #expect(answers[2].stringValue?.hasPrefix(command) == true, "\(answers[2])")
            let result = try await phone.receive()
            #expect(result.map(\.state) == ["purchased"] && result.first?.paymentID != nil)
            #expect(try await other.receive().allSatisfy { $0.paymentID == nil })
        }
    }

    @Test func `a yearly product is bought with monthly bills, and its cancelled commitment is shown`() async throws {
        let catalogue = try Catalogue(parsing: Array(CommitmentTests.catalogueText.utf8), file: "commitment.storekit")
        try await TestStore.with(change: { $0.catalogue = catalogue }) { test in
            try await test.store.createAccount("anna")
            let card = "document.querySelector('#subscriptions').textContent"
            let steps: [[JSONValue]] = [
                [DeskStep.press("Buy club.alt"), ["select": "#field-billingPlan", "option": "monthly"]],
                DeskStep.confirm, [DeskStep.result("Sold club.alt"), DeskStep.command],
                [DeskStep.wait("\(card).includes('bill 1 of 12')"), DeskStep.press("+1 period (1 month) of club.alt")],
                [DeskStep.wait("\(card).includes('bill 2 of 12')"), DeskStep.press("Cancel club.alt")],
                [DeskStep.result("ends with its commitment"), DeskStep.wait("\(card).includes('will not renew')")],
            ]
            let answers = try await test.browse(steps.flatMap { $0 })
            let command = "souk store buy anna club.alt --billing-plan monthly --url"
            #expect(answers[0].stringValue?.hasPrefix(command) == true, "\(answers)")
            let commitment = try await test.store.subscriptions(of: "anna").first?.commitment
            #expect(commitment?.bill == 2 && commitment?.renews == false)
        }
    }

    @Test func `products are promoted, withdrawn and offered again, and a consent is rescinded`() async throws {
        let receiver = Receiver { _ in 200 }
        try await TestStore.with(change: { $0.notificationTransport = receiver }) { test in
            try await test.store.set(.notificationsURL, to: .string(Receiver.url))
            let device = try await test.device()
            let isListed =
                "[...document.querySelectorAll('#products code')].some((code) => code.textContent === 'pack')"
            let steps: [[JSONValue]] = [
                [DeskStep.press("Promote pack"), DeskStep.result("pack has begun"), DeskStep.command],
                [DeskStep.press("Withdraw pack"), ["text": "#sheet-warning"]], DeskStep.confirm,
                [DeskStep.result("is withdrawn"), DeskStep.command, DeskStep.wait("!\(isListed)")],
                [["text": "#withdrawn"], DeskStep.press("Offer again pack"), DeskStep.result("is sold again")],
                [DeskStep.command, DeskStep.wait(isListed)],
                [DeskStep.wait("document.querySelector('#withdrawn-box').hidden")],
                [DeskStep.press("Rescind consent for anna")], DeskStep.confirm,
                [DeskStep.result("RESCIND_CONSENT"), DeskStep.command],
            ]
            let answers = try await test.browse(steps.flatMap { $0 })
            #expect(answers[0].stringValue?.hasPrefix("souk store promote anna pack --url") == true)
            #expect(answers[1].stringValue?.contains("offer it again") == true)
            #expect(answers[2].stringValue?.hasPrefix("souk store product withdraw pack --url") == true)
            #expect(answers[3].stringValue?.hasPrefix("pack pack") == true, "\(answers[3])")
            #expect(answers[4].stringValue?.hasPrefix("souk store product offer pack --url") == true)
            #expect(answers[5].stringValue?.hasPrefix("souk store account rescind-consent anna --url") == true)
            #expect(
                try await test.store.updates(for: device, after: nil).promotedPurchases?.map(\.productID) == ["pack"])
            #expect(try test.store.notifications().map(\.type) == ["RESCIND_CONSENT"])
        }
    }

    @Test func `offer codes are listed with their state, and promoted purchases until a device takes them`()
        async throws
    {
        try await TestStore.with { test in
            let device = try await test.device()
            let pill = "document.querySelector('#codes .pill').textContent"
            let taken = "fetch('/store/v1/devices/\(device)/promoted-purchases/pack', { method: 'POST' })"
            let shown = try await test.browse(
                [
                    DeskStep.wait("!document.querySelector('#codes-box').hidden"), ["text": "#codes"],
                    DeskStep.press("Redeem spring"), DeskStep.transactions(1), DeskStep.command,
                    DeskStep.wait("\(pill) === 'redeemed'"), ["count": "#codes button"],
                    DeskStep.press("Promote pack"), DeskStep.result("pack has begun"),
                    DeskStep.wait("!document.querySelector('#promoted-box').hidden"), ["text": "#promoted"],
                    DeskStep.answer("\(taken).then((answer) => answer.status)"),
                    DeskStep.wait("document.querySelector('#promoted-box').hidden"),
                ])
            #expect(shown[0].stringValue?.contains("spring available") == true, "\(shown[0])")
            #expect(shown[0].stringValue?.contains("1 month free, for all customers") == true)
            #expect(shown[1].stringValue?.hasPrefix("souk store redeem anna spring --url") == true && shown[2] == 0)
            #expect(shown[3].stringValue?.hasPrefix("pack promoted since 31 Jan 2026") == true, "\(shown[3])")
            #expect(shown[4] == 200)
        }
    }

    @Test func `a subscription is bought without its introductory offer`() async throws {
        try await TestStore.with { test in
            try await test.store.createAccount("anna")
            let answers = try await test.browse(
                [DeskStep.press("Buy monthly"), ["select": "#field-offer", "option": "none"]]
                    + [["text": "#sheet-command"]] + DeskStep.confirm
                    + [DeskStep.transactions(1), ["text": "#transactions tbody td.number"]])
            let command = "souk store buy anna monthly --no-introductory-offer --url"
            #expect(answers[0].stringValue?.hasPrefix(command) == true, "\(answers[0])")
            #expect(answers[1] == "$4.99")
        }
    }

    @Test func `the next dates are listed, and the time moves by a period of a subscription`() async throws {
        try await TestStore.with { test in
            try await test.buy("weekly")
            try await test.buy("yearly")
            let answers = try await test.browse([
                DeskStep.transactions(2), ["text": "#next"], DeskStep.click("#later summary"),
                DeskStep.answer("[...document.querySelectorAll('#later li')].map((date) => date.textContent)"),
                DeskStep.press("+1 period (1 week) of weekly"), DeskStep.transactions(3), DeskStep.command,
            ])
            #expect(answers[0].stringValue?.hasPrefix("Next: weekly renews on 7 Feb 2026") == true, "\(answers[0])")
            #expect(answers[1].arrayValue?.count == 1)
            #expect(answers[1][0]?.stringValue?.contains("2027, 10:00: yearly renews") == true, "\(answers[1])")
            #expect(answers[2].stringValue?.hasPrefix("souk store advance P1W --url") == true)
        }
    }

    @Test func `notifications show each attempt and are sent again`() async throws {
        let receiver = Receiver { _ in 500 }
        try await TestStore.with(change: { $0.notificationTransport = receiver }) { test in
            try await test.store.set(.notificationsURL, to: .string(Receiver.url))
            try await test.buy("pack")
            await receiver.arrivals(atLeast: 1)
            receiver.answer { _ in 200 }
            let pills = "[...document.querySelectorAll('.attempts .pill')].map((pill) => pill.textContent)"
            let answers = try await test.browse(
                [DeskStep.click("nav a:has-text(\"Notifications\")"), ["text": "#notifications-note"]]
                    + [
                        DeskStep.click("#notifications tbody button"),
                        DeskStep.wait("\(pills).length === 1 && \(pills)[0] !== 'under way'"),
                    ]
                    + [DeskStep.answer("\(pills)[0]"), DeskStep.click(".more button:has-text(\"Resend\")")]
                    + [
                        DeskStep.wait("\(pills).length === 2 && \(pills)[1] !== 'under way'"),
                        DeskStep.answer("\(pills)[1]"), DeskStep.command,
                    ]
                    + [
                        DeskStep.press("Deliver now"), DeskStep.result("All notifications have arrived"),
                        DeskStep.command,
                    ]
                    + [["select": "#notification-account", "option": "anna"]]
                    + [DeskStep.wait("document.querySelectorAll('#notifications tbody tr:not(.more)').length === 1")])
            #expect(answers[0].stringValue?.contains(Receiver.url) == true)
            #expect(answers[1] != "SUCCESS" && answers[2] == "SUCCESS")
            #expect(answers[3].stringValue?.hasPrefix("souk store notifications resend ") == true)
            #expect(answers[4].stringValue?.hasPrefix("souk store notifications deliver --url") == true)
        }
    }

    @Test func `an offer code is redeemed, a price agreed to, and the time moved to the renewal`() async throws {
        try await TestStore.with { test in
            try await test.store.createAccount("anna")
            let answers = try await test.browse(
                [DeskStep.wait("document.querySelector('#products li') !== null"), DeskStep.fill("#code", "spring")]
                    + [
                        ["select": "#code-product", "option": "paygo"], DeskStep.press("Redeem"),
                        DeskStep.transactions(1),
                    ]
                    + [
                        DeskStep.command, DeskStep.press("Increase price of paygo"),
                        DeskStep.fill("#field-price", "3.99"),
                    ]
                    + DeskStep.confirm + [DeskStep.press("Agree to the price paygo"), DeskStep.result("agreed")]
                    + [DeskStep.press("To the next date"), DeskStep.transactions(2), DeskStep.command]
                    + [["select": "#rate", "option": "30s"], DeskStep.result("The speed of time is 30s")]
                    + [
                        ["text": "#speed"], DeskStep.press("Pause"), DeskStep.result("The time is paused"),
                        DeskStep.command,
                    ])
            #expect(answers[0].stringValue?.hasPrefix("souk store redeem anna spring --product paygo --url") == true)
            #expect(answers[1].stringValue?.hasPrefix("souk store advance 2026-02-28T") == true, "\(answers[1])")
            #expect(answers[2] == "86,400 times real time")
            #expect(answers[3].stringValue?.hasPrefix("souk store clock rate frozen --url") == true)
        }
    }

    @Test func `a scenario file runs in a store of its own, and its first difference is open`() async throws {
        try await TestStore.with { test in
            func run(_ scenario: String) -> [JSONValue] {
                let file = "new File([\(JSONValue.string(scenario).text())], 'my life.json')"
                return [
                    DeskStep.answer(
                        """
                        (() => { const box = new DataTransfer(); box.items.add(\(file));
                        document.querySelector('#scenario-file').files = box.files; return box.files.length; })()
                        """), DeskStep.click("#run-scenario button"),
                ]
            }
            let head = #"{"name":"<b>A</b>","catalogue":"shop.storekit","seed":9007199254740993,"steps":["#
            let vip = #"{"expect":{"account":"anna","entitlements":[{"productID":"vip"}]},"note":"never"}]}"#
            let buys = #"{"createAccount":"anna"},{"buy":{"account":"anna","productID":"coins"},"as":"it"},"#
            let answers = try await test.browse(
                run(head + buys + #"{"expect":{"account":"anna","entitlements":[]}}]}"#)
                    + [DeskStep.result("expected results"), DeskStep.command, ["text": "#scenario-report h3"]]
                    + [DeskStep.answer("document.querySelectorAll('#scenario-report li').length")]
                    + run(head + buys + vip)
                    + [
                        DeskStep.result("differ from"),
                        DeskStep.answer("document.querySelector('#scenario-report details').open"),
                        ["text": "#scenario-report details"],
                        DeskStep.answer("document.querySelectorAll('#scenario-report b').length"),
                    ]
                    + run(#"{"name":"x"}"#) + [DeskStep.result("is not a scenario"), ["text": "#outcome"]],
                at: "#/scenarios", refusals: 1)
            #expect(answers[1] == "souk scenario run 'my life.json'")
            #expect(answers[2].stringValue?.contains("<b>A</b>") == true && answers[3] == 3)
            #expect(answers[5] == true && answers[7] == 0)
            #expect(answers[6].stringValue?.contains("(never)") == true, "\(answers[6])")
            #expect(answers[9].stringValue?.contains("/catalogue") == true, "\(answers[9])")
            #expect(try test.store.accounts().isEmpty)
        }
    }
}
