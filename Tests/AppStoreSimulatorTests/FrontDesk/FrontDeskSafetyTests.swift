import Foundation
import HostTestSupport
import Primitives
import SimulatorControl
import StoreModel
import Testing

@testable import AppStoreSimulator

/// The front desk with hostile text, and as an accessibility engine sees it.
@Suite(.outsideJudge(OutsideJudge.python != nil, "SOUK_PYTHON names no interpreter with playwright"), .serialized)
struct FrontDeskSafetyTests {
    /// Whether `SOUK_PAGES=all` is set, which tests every width in every colour scheme.
    private static let isInFull = ProcessInfo.processInfo.environment["SOUK_PAGES"] == "all"

    /// A text that runs code if it becomes markup, an attribute, a link or a script.
    private static let hostile =
        "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'><svg/onload=alert(3)>{{7*7}}$(id)"

    /// Counts the scripts, and the elements and attributes that hostile text would add.
    private static let counts = DeskStep.answer(
        "[document.scripts.length, document.querySelectorAll('img, iframe, object, [onerror], [onload], a[href^=javascript]').length]"
    )

    @Test func `markup in names, products and settings has no effect`() async throws {
        let text = Self.hostile
        let file = try Catalogue(parsing: HostileCatalogue.json(Self.hostile).encoded(), file: "hostile.storekit")
        try await TestStore.with(change: { $0.catalogue = file }) { test in
            let account = AccountName(unchecked: text)
            try await test.store.createAccount(account)
            _ = try await test.store.createFamily(FamilyName(unchecked: text), organizer: account)
            try await test.store.set(.notificationsURL, to: .string("http://127.0.0.1:1/" + text))
            for product in [text, "s" + text] { try await test.buy(ProductID(unchecked: product), account) }
            _ = try await test.store.signIn(account: account)
            try await test.store.change(account, .init(askToBuy: true))
            try await test.buy(ProductID(unchecked: text), account)
            let counts = Self.counts
            let answers = try await test.browse([
                DeskStep.transactions(2), counts, ["text": "#account-title"], ["text": "#products h4"],
                DeskStep.click("#transactions tbody button"),
                DeskStep.wait("document.querySelector('.more pre') !== null"), counts,
                DeskStep.click("#products button.main"), counts, DeskStep.click("#sheet-cancel"),
                DeskStep.click("#waiting button:has-text(\"Approve\")"), DeskStep.result("Sold "), counts,
                ["text": "#outcome"], DeskStep.click("nav a:has-text(\"Families\")"), ["text": "#families h3"],
                DeskStep.click("#families button:has-text(\"Remove\")"), ["text": "#sheet-title"], counts,
                DeskStep.click("#sheet-cancel"),
                DeskStep.click("nav a:has-text(\"Notifications\")"),
                DeskStep.wait("document.querySelector('#notifications tbody tr') !== null"), counts,
                ["text": "#notifications-note"], DeskStep.click("nav a:has-text(\"Settings\")"),
                DeskStep.answer("document.querySelector('[data-setting=notificationsURL] input').value"),
            ])
            #expect(answers[0] == [1, 0] && answers[1] == .string(text) && answers[2] == .string(text))
            #expect(answers[3] == [1, 0] && answers[4] == [1, 0] && answers[5] == [1, 0])
            #expect(answers[6].stringValue?.contains(text) == true)
            #expect(
                answers[7] == .string(text) && answers[8].stringValue?.contains(text) == true && answers[9] == [1, 0])
            #expect(answers[10] == [1, 0] && answers[11].stringValue?.contains(text) == true)
            #expect(answers[12].stringValue?.contains(text) == true)
        }
    }

    @Test func `markup in offers, withdrawn products, codes and refused values has no effect`() async throws {
        let text = Self.hostile
        let file = try Catalogue(parsing: HostileCatalogue.json(Self.hostile).encoded(), file: "hostile.storekit")
        try await TestStore.with(change: { $0.catalogue = file }) { test in
            let account = AccountName(unchecked: text), subscription = ProductID(unchecked: "s" + text)
            for name in [account, AccountName(unchecked: "b" + text)] { try await test.store.createAccount(name) }
            _ = try await test.store.signIn(account: account)
            try await test.store.set(.errors(.updates), to: "networkError")
            func click(_ label: String) -> JSONValue {
                DeskStep.click("#products li:nth-child(2) button:has-text(\"\(label)\")")
            }
            func choose(_ field: String, _ index: Int) -> JSONValue {
                DeskStep.answer(
                    """
                    (() => { const field = document.querySelector('#field-\(field)'); field.selectedIndex = \(index);
                    field.dispatchEvent(new Event('input', { bubbles: true })); return field.value; })()
                    """)
            }
            let (counts, cancel) = (Self.counts, DeskStep.click("#sheet-cancel"))
            let (command, title, outcome): (JSONValue, JSONValue, JSONValue) = (
                ["text": "#sheet-command"], ["text": "#sheet-title"], ["text": "#outcome"]
            )
            let redeem = DeskStep.press("Redeem"), payload: JSONValue = ["text": ".pair > :nth-child(2) pre"]
            let isRefused = DeskStep.wait("document.querySelector('#outcome.fault') !== null")
            let steps: [[JSONValue]] = [
                [DeskStep.wait("document.querySelectorAll('#products h4').length === 2")],
                [click("Buy"), choose("offer", 3), command, counts, cancel],
                [click("Promote"), choose("offer", 1), command, counts], DeskStep.confirm,
                [DeskStep.result("has begun"), outcome, click("Increase price"), title, cancel],
                [DeskStep.fill("#code", text), redeem, isRefused, outcome, counts],
                [DeskStep.fill("#code", "c" + text), redeem, DeskStep.transactions(1), counts],
                [DeskStep.click("#transactions tbody button")],
                [DeskStep.wait("document.querySelector('.more pre') !== null"), payload, counts],
                [click("Withdraw"), title, counts], DeskStep.confirm,
                [DeskStep.wait("!document.querySelector('#withdrawn-box').hidden"), ["text": "#withdrawn"], counts],
                [DeskStep.click("#account li button:has-text(\"Switch account\")"), counts, ["text": "#sheet-fields"]],
                [cancel, DeskStep.click("nav a:has-text(\"Settings\")")],
                [["select": "#fault-name", "option": "errors.serverAPI"]],
                [DeskStep.fill("[data-fault=\"errors.serverAPI\"] input", text), DeskStep.press("Inject")],
                [DeskStep.result("errors.serverAPI takes"), counts],
                [DeskStep.fill("[data-setting=notificationsURL] input", text)],
                [DeskStep.click("[data-setting=notificationsURL] button")],
                [DeskStep.result("notificationsURL takes"), counts, ["text": "#earlier"]],
            ]
            let answers = try await test.browse(steps.flatMap { $0 }, refusals: 3)
            var shown = answers
            shown.removeAll { $0 == [1, 0] }
            #expect(
                answers.count - shown.count == 10, "a script, an element or an attribute came from a value: \(answers)")
            for (index, expected) in [
                "winBack", "souk store buy", "w" + text, "souk store promote", "s" + text, text, text, "alert(1)", text,
                "s" + text, "b" + text, "alert(1)",
            ].enumerated() {
                #expect(shown[index].stringValue?.contains(expected) == true, "\(index): \(shown[index])")
            }
            #expect(try await test.store.transactions(of: account).map(\.productID) == [subscription])
        }
    }

    @Test func `markup in a scenario has no effect`() async throws {
        let text = Self.hostile, value = JSONValue.string(Self.hostile)
        let scenario: JSONValue = [
            "name": value, "description": value, "catalogue": HostileCatalogue.json(Self.hostile),
            "steps": [
                ["createAccount": value, "note": value],
                ["buy": ["account": value, "productID": value], "as": "it", "note": value],
                [
                    "expect": ["account": value, "entitlements": [["productID": .string("not " + text)]]],
                    "note": value,
                ],
                [
                    "expect": ["account": value, "transactions": [["signedTransaction": ["bundleId": value]]]],
                    "note": value,
                ],
            ],
        ]
        func run(_ scenario: JSONValue) -> [JSONValue] {
            let file = JSONValue.string(scenario.text()).text()
            return [
                DeskStep.answer(
                    """
                    (() => { const box = new DataTransfer();
                    box.items.add(new File([\(file)], \(JSONValue.string(text.replacing("/", with: ":")).text())));
                    document.querySelector('#scenario-file').files = box.files; return box.files.length; })()
                    """), DeskStep.click("#run-scenario button"),
            ]
        }
        try await TestStore.with { test in
            let steps: [[JSONValue]] = [
                run(scenario),
                [DeskStep.wait("document.querySelectorAll('#scenario-report details').length === 2"), Self.counts],
                [["text": "#scenario-report h3"], ["text": "#scenario-report"], DeskStep.command],
                run(["name": value, "catalogue": HostileCatalogue.json(Self.hostile), "steps": [[text: value]]]),
                [
                    DeskStep.wait("document.querySelector('#outcome.fault') !== null"), ["text": "#outcome"],
                    Self.counts,
                ],
            ]
            let answers = try await test.browse(steps.flatMap { $0 }, at: "#/scenarios", refusals: 1)
            #expect(answers[1] == [1, 0] && answers[7] == [1, 0])
            #expect(answers[2].stringValue?.hasSuffix(text) == true)
            #expect(answers[3].stringValue?.contains("not </script><script>") == true, "\(answers[3])")
            #expect(answers[4].stringValue?.hasPrefix("souk scenario run '") == true)
            #expect(answers[6].stringValue?.contains(text) == true, "\(answers[6])")
        }
    }

    @Test func `a command quotes what a shell would expand`() async throws {
        try await TestStore.with { test in
            let name = "it's $(id) `id` \"x\""
            let answers = try await test.browse([
                DeskStep.wait("!document.querySelector('#no-accounts').hidden"), DeskStep.fill("#account-name", name),
                DeskStep.press("Create account"), DeskStep.result("is created"), DeskStep.command,
                DeskStep.fill("#account-name", "-x"), DeskStep.press("Create account"),
                DeskStep.result("The account -x is created"), DeskStep.command,
            ])
            let quoted = "souk store account create 'it'\\''s $(id) `id` \"x\"' --url http://"
            #expect(answers[0].stringValue?.hasPrefix(quoted) == true, "\(answers[0])")
            #expect(answers[1].stringValue?.hasPrefix("souk store account create --url http://") == true)
            #expect(answers[1].stringValue?.hasSuffix(" -- -x") == true)
        }
    }

    @Test func `the keyboard alone creates an account, buys, and reads a transaction`() async throws {
        try await TestStore.with { test in
            let answers = try await test.browse([
                DeskStep.wait("!document.querySelector('#no-accounts').hidden"), ["press": "Tab"], ["focused": true],
                ["focus": "#account-name"], ["press": "a"], ["press": "Enter"],
                DeskStep.wait("document.querySelector('#account-title')?.textContent === 'a'"),
                ["focus": "#products li:has-text(\"coins\") button.main"], ["press": "Enter"],
                DeskStep.wait("document.querySelector('#sheet').open"), ["press": "Escape"],
                DeskStep.wait("!document.querySelector('#sheet').open"), ["focused": true], ["press": "Enter"],
                ["focus": "#field-quantity"], ["press": "Enter"],
                DeskStep.wait("!document.querySelector('#sheet').open"),
                DeskStep.transactions(1), ["focus": "#transactions tbody button"], ["press": "Enter"],
                DeskStep.wait("document.querySelector('.more') !== null"), ["focused": true],
                DeskStep.answer("document.activeElement.getAttribute('aria-expanded')"),
            ])
            #expect(answers == ["Skip to the content", "Buy", "Close", "true"])
        }
    }

    @Test(
        arguments: [(1280, "light"), (390, "dark")]
            + (isInFull ? [(1280, "dark"), (390, "light"), (1920, "light")] : []))
    func `an accessibility engine finds nothing wrong in accounts, families, notifications and settings`(
        width: Int, scheme: String
    ) async throws {
        try await TestStore.with { test in
            try await test.store.createAccount("anna")
            try await test.store.createAccount("bob")
            try await test.store.set(.gracePeriod, to: "3d")
            try await test.store.set(.notificationsURL, to: "http://127.0.0.1:1/")
            _ = try await test.device()
            for product: ProductID in ["monthly", "paygo", "weekly", "pack", "coins"] { try await test.buy(product) }
            try await test.store.failBilling("monthly", for: "anna")
            try await test.store.cancel("weekly", for: "anna")
            try await test.advance(.months(2))
            let pack = try #require(try await test.store.transactions(of: "anna").first { $0.productID == "pack" })
            try await test.store.refund(pack.transactionID)
            try await test.store.increasePrice(of: "paygo", to: "5.99")
            try await test.store.change("anna", .init(askToBuy: true))
            try await test.buy("coins")
            try await test.store.setWithdrawn("pass", true)
            try await test.store.set(.errors(.purchase), to: "networkError")
            _ = try await test.store.createFamily("home", organizer: "anna")
            let pause = DeskStep.answer("new Promise((done) => setTimeout(() => done(null), 150))")
            let answers = try await test.browse(
                [
                    DeskStep.wait("document.querySelector('.timeline') !== null"), ["axe": true], DeskStep.fits,
                    DeskStep.click("#transactions tbody tr:nth-child(2) button"),
                    DeskStep.click("#transactions tbody tr:nth-child(1) button"),
                    DeskStep.wait("document.querySelectorAll('.more').length === 2"),
                    DeskStep.click(".timeline ~ details summary"),
                    pause, ["axe": true], DeskStep.fits, DeskStep.click("#products button.main"), pause, ["axe": true],
                    DeskStep.click("#sheet-cancel"), DeskStep.click("nav a:has-text(\"Families\")"), ["axe": true],
                    DeskStep.click("nav a:has-text(\"Notifications\")"), DeskStep.click("#notifications tbody button"),
                    DeskStep.wait("document.querySelector('#notifications .more') !== null"), pause, ["axe": true],
                    DeskStep.fits,
                    DeskStep.click("nav a:has-text(\"Settings\")"), ["axe": true], DeskStep.fits,
                ], width: width, scheme: scheme)
            #expect(answers == [[], true, .null, [], true, .null, [], [], .null, [], true, [], true])
        }
    }
}
