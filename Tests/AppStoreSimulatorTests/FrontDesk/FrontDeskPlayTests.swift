import Foundation
import GooglePlay
import HTTPCore
import HostTestSupport
import Primitives
import SimulatorControl
import StoreModel
import Testing

@testable import AppStoreSimulator

/// Google Play at the front desk, in Chromium.
@Suite(.outsideJudge(OutsideJudge.python != nil, "SOUK_PYTHON names no interpreter with playwright"), .serialized)
struct FrontDeskPlayTests {
    /// Whether `SOUK_PAGES=all` is set, which tests every width in every colour scheme.
    private static let isInFull = ProcessInfo.processInfo.environment["SOUK_PAGES"] == "all"

    private static let isShown = DeskStep.wait("!document.querySelector('#play-desk').hidden")
    private static let state = "document.querySelector('#play-purchases .pill')?.textContent"

    private static func press(_ label: String, in list: String = "#play-purchases") -> JSONValue {
        DeskStep.click("\(list) button:text-is(\"\(label)\")")
    }

    @Test(arguments: [1280, 390])
    func `a tester buys a subscription, and uses each action of it`(width: Int) async throws {
        try await TestStore.withPlay { test, _ in
            try await test.store.createAccount("anna")
            let actions: [(button: String, hasDialog: Bool, result: String, words: String)] = [
                ("Acknowledge", false, "is acknowledged", "acknowledge"), ("Pause", true, "pauses at the end", "pause"),
                ("Resume", false, "pause is over", "resume"), ("Fail payments", false, "Payments fail", "hold"),
                ("Recover", false, "Payments work again", "recover"), ("Cancel", false, "renewal is off", "cancel"),
                ("Restart", false, "renewal is on again", "restart"),
                ("+1 period (1 month)", false, "The time is", "advance"),
                ("Chargeback", true, "payment is returned", "chargeback"),
            ]
            var steps: [JSONValue] = [
                Self.isShown, DeskStep.press("Buy Plus"), ["select": "#field-plan", "option": #"["monthly","trial"]"#],
                ["text": "#sheet-command"],
            ]
            steps += DeskStep.confirm
            steps += [
                DeskStep.result("Sold plus"), DeskStep.wait("\(Self.state) === 'active'"),
                ["text": "#play-purchases .pill:nth-of-type(2)"],
            ]
            for action in actions {
                steps.append(Self.press(action.button))
                if action.hasDialog { steps += DeskStep.confirm }
                steps += [DeskStep.result(action.result), DeskStep.command]
            }
            steps += [
                DeskStep.wait("\(Self.state) === 'expired'"), ["text": "#play-purchases .legend"],
                ["count": "#play-orders tbody tr"], ["text": "#play-orders tbody td.number"], DeskStep.fits,
                Self.press("Resubscribe"), DeskStep.result("bought the subscription again"), DeskStep.command,
                DeskStep.wait("\(Self.state) === 'active'"),
                DeskStep.wait(
                    "document.querySelectorAll('#play-purchases button[aria-label^=Resubscribe]').length === 0"),
            ]
            let answers = try await test.browse(steps, at: "#/play", width: width)
            let token = try #require(try await test.store.playPurchases(of: "anna").first).purchaseToken
            let buy = "souk store play buy anna plus --base-plan monthly --offer trial --url http://"
            #expect(answers[0].stringValue?.hasPrefix(buy) == true, "\(answers[0])")
            #expect(answers[1] == "acknowledge in 3 days")
            for (action, answer) in zip(actions, answers.dropFirst(2)) where action.words != "advance" {
                let words = "souk store play \(action.words) \(token)"
                #expect(answer.stringValue?.hasPrefix(words) == true, "\(answer)")
            }
            #expect(answers[2 + actions.count] == "Free trialOfferRevoked")
            #expect(answers[3 + actions.count] == 2 && answers[4 + actions.count] == "$2.00Offer")
            #expect(answers[5 + actions.count] == true)
            let words = answers[6 + actions.count].stringValue
            #expect(words?.hasPrefix("souk store play resubscribe \(token)") == true, "\(answers)")
        }
    }

    @Test func `one-time products are bought, completed, consumed and refunded`() async throws {
        try await TestStore.withPlay { test, _ in
            try await test.store.createAccount("anna")
            let steps: [[JSONValue]] = [
                [Self.isShown, DeskStep.press("Buy Coins"), DeskStep.fill("#field-quantity", "3")],
                [DeskStep.click("#field-waits"), ["text": "#sheet-command"]], DeskStep.confirm,
                [DeskStep.result("waits for its payment"), DeskStep.wait("\(Self.state) === 'waits for payment'")],
                [Self.press("Complete"), DeskStep.result("is paid"), Self.press("Consume")],
                [DeskStep.result("can buy it again"), DeskStep.press("Buy Coins")], DeskStep.confirm,
                [DeskStep.result("Sold coins"), Self.press("Refund"), DeskStep.click("#field-keeps")],
                [["text": "#sheet-command"]], DeskStep.confirm, [DeskStep.result("payment is returned")],
                [DeskStep.wait("document.querySelector('#play-orders .pill').textContent === 'refunded'")],
                [DeskStep.wait("document.querySelector('#play-orders tbody tr:nth-child(2)') !== null")],
                [["text": "#play-orders tbody tr:nth-child(2) td.number"]],
            ]
            let answers = try await test.browse(steps.flatMap { $0 }, at: "#/play")
            let buy = "souk store play buy anna coins --option buy --quantity 3 --pending --url http://"
            #expect(answers[0].stringValue?.hasPrefix(buy) == true, "\(answers[0])")
            #expect(answers[1].stringValue?.contains(" --keep --url http://") == true, "\(answers[1])")
            #expect(answers[2] == "$2.97")
            let purchases = try await test.store.playPurchases(of: "anna")
            #expect(purchases.map(\.state) == ["purchased", "purchased"])
        }
    }

    @Test func `notifications show each attempt, and another account is chosen`() async throws {
        try await TestStore.withPlay(
            change: {
                $0.playNotificationsURL = "http://127.0.0.1:1/push"
                $0.notificationTransport = Receiver { _ in 500 }
            }
        ) { test, _ in
            try await test.store.createAccount("anna")
            let token = try await test.playBuy("coins", account: "bob").purchaseToken
            try await test.store.deliverPlayNotifications()
            let steps: [[JSONValue]] = [
                [Self.isShown, ["select": "#play-account", "option": "bob"]],
                [DeskStep.wait("\(Self.state) === 'purchased'"), Self.press("Details", in: "#play-notifications")],
                [["count": "#play-notifications .attempts li"], ["text": "#play-notifications .more"]],
                [Self.press("Resend", in: "#play-notifications"), DeskStep.result("is sent again"), DeskStep.command],
                [DeskStep.wait("document.querySelectorAll('#play-notifications .attempts li').length === 2")],
                [DeskStep.press("Send a test notification"), DeskStep.result("test notification is sent")],
                [DeskStep.wait("document.querySelector('#play-notifications').textContent.includes('TEST')")],
                [DeskStep.press("Deliver now the notifications of Google Play"), DeskStep.result("sent again later")],
            ]
            let answers = try await test.browse(steps.flatMap { $0 }, at: "#/play")
            #expect(answers[0] == 1 && answers[1].stringValue?.contains(token) == true)
            #expect(answers[2].stringValue?.hasPrefix("souk store play resend 1 --url http://") == true)
        }
    }

    @Test func `a store without a Google Play says so`() async throws {
        try await TestStore.with { test in
            try await test.store.createAccount("anna")
            let answers = try await test.browse(
                [
                    DeskStep.wait("!document.querySelector('[data-panel=play]').hidden"),
                    ["text": "[data-panel=play] p"], DeskStep.click("nav a:has-text(\"Accounts\")"),
                    DeskStep.wait("document.querySelector('#account-title').textContent === 'anna'"),
                ], at: "#/play")
            #expect(answers[0].stringValue?.contains("--play-catalog") == true)
        }
    }

    @Test func `markup in the catalogue and in accounts has no effect`() async throws {
        let text = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"
        let file = PlayFixtures.text.replacing("\"title\": \"Coins\"", with: "\"title\": \"\(text)\"")
        let catalogue = try PlayCatalogue(parsing: Array(file.utf8), file: "play.json")
        try await TestStore.withPlay(change: { $0.playCatalogue = catalogue }) { test, _ in
            let account = AccountName(unchecked: text)
            try await test.playBuy("coins", account: account) { $0.obfuscatedAccountID = text }
            let counts = DeskStep.answer(
                "[document.scripts.length, document.querySelectorAll('img, iframe, object, [onerror], [onload]').length]"
            )
            let answers = try await test.browse(
                [
                    Self.isShown, DeskStep.wait("\(Self.state) === 'purchased'"), ["text": "#play-products h4"],
                    ["text": "#play-purchases h4"], ["text": "#play-account"], counts,
                    Self.press("Refund"), ["text": "#sheet-title"], counts, DeskStep.fits,
                ], at: "#/play", width: 390)
            for answer in [answers[0], answers[1], answers[2]] { #expect(answer == .string(text)) }
            #expect(answers[3] == [1, 0] && answers[5] == [1, 0] && answers[6] == true)
            #expect(answers[4].stringValue?.contains(text) == true)
        }
    }

    @Test(
        arguments: [(1280, "light"), (390, "dark")]
            + (isInFull ? [(1280, "dark"), (390, "light"), (1920, "light"), (1920, "dark")] : []))
    func `an accessibility engine finds nothing wrong`(width: Int, scheme: String) async throws {
        try await TestStore.withPlay(
            change: {
                $0.playNotificationsURL = "http://127.0.0.1:1/push"
                $0.notificationTransport = Receiver { _ in 500 }
            }
        ) { test, _ in
            let plus = try await test.playSubscribe("plus", "monthly", offer: "trial")
            try await test.advance(.months(2))
            _ = try await test.store.perform(.hold, onPlayPurchase: plus)
            try await test.advance(.months(1))
            let pro = try await test.playSubscribe("pro", "monthly")
            _ = try await test.store.perform(.pause(.months(1)), onPlayPurchase: pro)
            let coins = try await test.playBuy("coins").purchaseToken
            _ = try await test.store.refundPlayPurchase(coins, .init())
            try await test.playBuy("coins") { $0.isPending = true }
            try await test.store.deliverPlayNotifications()
            let pause = DeskStep.answer("new Promise((done) => setTimeout(() => done(null), 150))")
            let answers = try await test.browse(
                [
                    Self.isShown, DeskStep.wait("document.querySelector('#play-purchases .timeline') !== null"),
                    DeskStep.wait("document.querySelector('#play-notifications tbody tr') !== null"),
                    Self.press("Details", in: "#play-notifications"),
                    DeskStep.click("#play-purchases .timeline ~ details summary"), pause, ["axe": true], DeskStep.fits,
                    DeskStep.press("Buy Plus"), pause, ["axe": true], DeskStep.click("#sheet-cancel"),
                    Self.press("Refund"), pause, ["axe": true], DeskStep.fits,
                ], at: "#/play", width: width, scheme: scheme)
            #expect(answers == [.null, [], true, .null, [], .null, [], true])
        }
    }
}
