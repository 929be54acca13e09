import Foundation
import HTTPCore
import HostTestSupport
import Primitives
import SimulatorControl
import StoreModel
import Testing

@testable import AppStoreSimulator

/// The retention messages and the created notifications of the front desk, in Chromium.
@Suite(.outsideJudge(OutsideJudge.python != nil, "SOUK_PYTHON names no interpreter with playwright"), .serialized)
struct FrontDeskRetentionTests {
    private static let (full, bullet, message) = (UUID(), UUID(), UUID())

    /// Uploads a message with an image and two bullet points, which is the default message of `monthly`.
    private static func uploadDefault(_ client: ServerClient) async throws {
        try await client.upload(Pictures.full, full)
        try await client.upload(Pictures.bullet, bullet, size: "BULLET_POINT")
        func point(_ text: String) -> JSONValue {
            ["text": .string(text), "imageIdentifier": .string(bullet.uuidString), "altText": "a mark"]
        }
        let body: JSONValue = [
            "header": "Stay with us", "body": "You keep your photos.", "headerPosition": "ABOVE_IMAGE",
            "image": ["imageIdentifier": .string(full.uuidString), "altText": "a mountain"],
            "bulletPoints": [point("albums"), point("prints")],
        ]
        #expect(try await client.upload(message: body, message) == nil)
        #expect(try await client.setDefault(message) == nil)
    }

    private static let screen: JSONValue = ["text": ".screen"]
    private static let pills = DeskStep.answer(
        "[...document.querySelectorAll('#uploaded-messages .line .pill, #uploaded-images .pill')].map((pill) => pill.textContent)"
    )

    @Test func `the default message is shown as the customer sees it, before a cancellation and with it`() async throws
    {
        try await TestStore.with { test in
            try await Self.uploadDefault(try ServerClient(test))
            try await test.buy("monthly")
            let parts = DeskStep.answer(
                "[...document.querySelectorAll('.screen .message > *')].map((part) => part.tagName + part.className)")
            let open = DeskStep.press("Retention message monthly")
            let steps: [[JSONValue]] = [
                [DeskStep.transactions(1), open, ["text": "#sheet-warning"]], DeskStep.confirm,
                [DeskStep.wait("document.querySelector('.screen') !== null"), Self.screen, parts, DeskStep.command],
                [["text": "#outcome"], ["focused": true], DeskStep.press("Close Screen before cancelling monthly")],
                [DeskStep.wait("document.querySelector('.screen') === null"), ["focused": true]],
                [open, DeskStep.fill("#field-locale", "de-DE"), ["text": "#sheet-command"]], DeskStep.confirm,
                [DeskStep.result("saw no message"), Self.screen, DeskStep.press("Cancel monthly")],
                [DeskStep.result("ends with its period. The customer saw")],
                [DeskStep.wait("document.querySelector('.screen .message') !== null"), Self.screen, DeskStep.command],
                [DeskStep.wait("document.querySelector('#subscriptions li > .line .pill.warn') !== null")],
                [["count": "#subscriptions button:has-text(\"Retention message\")"]],
            ]
            let answers = try await test.browse(steps.flatMap { $0 })
            #expect(answers[0].stringValue?.contains("stays as it is") == true)
            let shown = answers[1].stringValue ?? ""
            for text in [
                "default message", "Stay with us", "You keep your photos.", "Image: a mountain", "albums", "prints",
                "en-US", "not sent", Self.message.uuidString.lowercased(), Self.full.uuidString.lowercased(),
            ] { #expect(shown.contains(text), "\(text): \(shown)") }
            #expect(answers[2] == ["STRONG", "SPANpicture", "P", "ULpoints"])
            #expect(answers[3].stringValue?.hasPrefix("souk store retention-messages show anna monthly --url") == true)
            #expect(answers[4] == "The customer saw “Stay with us” (default message).")
            #expect(answers[5...6] == ["Retention message", "Retention message"])
            let command = "souk store retention-messages show anna monthly --locale de-DE --url"
            #expect(answers[7].stringValue?.hasPrefix(command) == true, "\(answers[7])")
            #expect(answers[8].stringValue?.contains("The customer sees no message.") == true, "\(answers[8])")
            #expect(answers[9].stringValue?.contains("Stay with us") == true)
            #expect(answers[10].stringValue?.hasPrefix("souk store cancel anna monthly --url") == true)
            #expect(answers[11] == 0)
            #expect(try test.store.retentionMessages().map(\.locale) == ["en-US", "de-DE", "en-US"])
            #expect(try await test.store.subscriptions(of: "anna").map(\.autoRenews) == [false])
        }
    }

    @Test func `the answer of the app's server is shown with its product, or with the reason why it is not used`()
        async throws
    {
        let server = RealtimeServer()
        try await TestStore.with(
            change: {
                $0.notificationTransport = server
                $0.realtimeTimeout = .seconds(60)
            }
        ) { test in
            let id = try await ServerClient(test).uploadMessage("Take a year", "It is cheaper.")
            try await test.set(.realtimeURL, .string(RealtimeServer.url))
            try await test.buy("monthly")
            func choice(_ product: String) -> JSONValue {
                ["alternateProduct": ["messageIdentifier": .string(id.uuidString), "productId": .string(product)]]
            }
            func open(_ result: String) -> [JSONValue] {
                [DeskStep.press("Retention message monthly")] + DeskStep.confirm
                    + [DeskStep.result(result), DeskStep.wait("document.querySelector('.screen') !== null")]
            }
            server.answer(choice("yearly"))
            let shown = try await test.browse(
                [DeskStep.transactions(1)] + open("Take a year") + [Self.screen, ["text": ".screen .offered"]])
            #expect(shown[0].stringValue?.contains("realtime answer") == true, "\(shown[0])")
            #expect(shown[0].stringValue?.contains("SUCCESS") == true, "\(shown[0])")
            #expect(shown[1] == "Suggests yearly yearly")
            server.answer(choice("monthly"))
            let refused = try await test.browse(
                [DeskStep.transactions(1)] + open("saw no message") + [["text": ".screen .warn:not(.pill)"]])
            #expect(refused[0].stringValue?.hasPrefix("The answer is not used: ") == true)
            #expect(refused[0].stringValue?.contains("present product") == true, "\(refused[0])")
            let listed = try await test.browse(
                [
                    DeskStep.wait("document.querySelectorAll('#screens tbody tr').length === 2"),
                    ["text": "#screens tbody tr:nth-child(1)"], ["text": "#screens tbody tr:nth-child(2)"],
                    DeskStep.click("#screens tbody tr:nth-child(1) button"), ["text": "#screens .more"],
                ], at: "#/retention")
            #expect(listed[0].stringValue?.contains("no message") == true)
            #expect(listed[1].stringValue?.contains("Take a year") == true)
            #expect(listed[2].stringValue?.contains("present product") == true, "\(listed[2])")
        }
    }

    @Test func `uploads wait for a review, and are approved and rejected on the page`() async throws {
        try await TestStore.with { test in
            try await test.set(.retentionReview, true)
            let client = try ServerClient(test)
            try await client.upload(Pictures.full, Self.full)
            let body: JSONValue = [
                "header": "h", "body": "b",
                "image": ["imageIdentifier": .string(Self.full.uuidString), "altText": "a mountain"],
            ]
            #expect(try await client.upload(message: body, Self.message) == nil)
            let (image, message) = (Self.full.uuidString.lowercased(), Self.message.uuidString.lowercased())
            func review(_ label: String, _ kind: String, _ id: String, _ state: String) -> [JSONValue] {
                [DeskStep.press("\(label) \(kind) \(id)"), DeskStep.result("\(id) is \(state)"), DeskStep.command]
            }
            let steps: [[JSONValue]] = [
                [DeskStep.wait("document.querySelectorAll('#retention-title, #uploaded-images code').length === 2")],
                [["text": "#retention-note"], Self.pills, ["text": "#uploaded-messages .picture"]],
                review("Approve", "message", message, "APPROVED"), review("Approve", "image", image, "APPROVED"),
                [DeskStep.wait("document.querySelectorAll('.pill.good').length === 2"), Self.pills],
                [["text": "#uploaded-messages .picture"]], review("Reject", "message", message, "REJECTED"),
                [DeskStep.wait("document.querySelector('#uploaded-messages .pill.bad') !== null"), Self.pills],
                [["count": "#uploaded-messages button"]],
            ]
            let answers = try await test.browse(steps.flatMap { $0 }, at: "#/retention")
            #expect(answers[0].stringValue?.hasSuffix("Uploads wait for a review.") == true, "\(answers[0])")
            #expect(answers[1] == ["PENDING", "PENDING"])
            #expect(answers[2].stringValue?.hasSuffix("PENDING") == true, "\(answers[2])")
            let command = "souk store retention-messages review"
            #expect(answers[3].stringValue?.hasPrefix("\(command) APPROVED --message \(message) --url") == true)
            #expect(answers[4].stringValue?.hasPrefix("\(command) APPROVED --image \(image) --url") == true)
            #expect(answers[5] == ["APPROVED", "APPROVED"])
            #expect(answers[6].stringValue?.hasSuffix(image) == true, "\(answers[6])")
            #expect(answers[7].stringValue?.hasPrefix("\(command) REJECTED --message \(message) --url") == true)
            #expect(answers[8] == ["REJECTED", "APPROVED"] && answers[9] == 1)
            let uploads = try test.store.retentionUploads()
            #expect(uploads.messages.map(\.state) == ["REJECTED"] && uploads.images.map(\.state) == ["APPROVED"])
        }
    }

    @Test func `a review of a message that the app's server has deleted says so`() async throws {
        try await TestStore.with { test in
            let client = try ServerClient(test)
            let id = try await client.uploadMessage().uuidString.lowercased()
            let token = try client.serverKey.token(at: test.base.now())
            let answers = try await test.browse(
                [
                    DeskStep.wait("document.querySelector('#uploaded-messages button') !== null"),
                    // Without updates the page keeps the button. A read in progress ends first.
                    DeskStep.answer(
                        """
                        (async () => { live.refresh = async () => {}; live.isStale = false; await live.running;
                        clearTimeout(live.timer); return true; })()
                        """),
                    DeskStep.answer(
                        """
                        fetch('\(ServerClient.messaging)/message/\(id)', { method: 'DELETE',
                        headers: { Authorization: 'Bearer \(token)' } }).then((answer) => answer.status)
                        """),
                    DeskStep.press("Reject message \(id)"),
                    DeskStep.wait("document.querySelector('#outcome.fault') !== null"), ["text": "#outcome"],
                ], at: "#/retention", refusals: 1)
            #expect(answers[1] == 200)
            #expect(answers[2].stringValue?.hasSuffix("The list shows the present state.") == true, "\(answers[2])")
        }
    }

    @Test func `notifications that no event sends are created with a transaction, or with a subtype`() async throws {
        let receiver = Receiver { _ in 200 }
        try await TestStore.with(change: { $0.notificationTransport = receiver }) { test in
            try await test.store.set(.notificationsURL, to: .string(Receiver.url))
            let monthly = try await test.buy("monthly").transactionID
            let pack = try await test.buy("pack").transactionID
            func create(_ type: String, _ result: String = "is created") -> [JSONValue] {
                [["select": "#new-type", "option": .string(type)], DeskStep.press("Create"), DeskStep.result(result)]
            }
            let known = "[...document.querySelectorAll('#known-transactions option')].map((option) => option.value)"
            let steps: [[JSONValue]] = [
                [DeskStep.wait("\(known).length === 1"), DeskStep.answer(known)],
                [DeskStep.answer("[...document.querySelector('#new-type').options].map((option) => option.value)")],
                [["visible": "#new-transaction"], ["visible": "#new-subtype"]],
                [DeskStep.fill("#new-transaction", "\(monthly)")],
                create("PRICE_CHANGE", "PRICE_CHANGE"), [DeskStep.command],
                create("MIGRATION", "MIGRATION"), create("METADATA_UPDATE", "METADATA_UPDATE"),
                [["select": "#new-type", "option": "EXTERNAL_PURCHASE_TOKEN"]],
                [["visible": "#new-transaction"], ["visible": "#new-subtype"]],
                [["select": "#new-subtype", "option": "CREATED"]],
                create("EXTERNAL_PURCHASE_TOKEN", "EXTERNAL_PURCHASE_TOKEN"), [DeskStep.command],
                [["select": "#new-type", "option": "MIGRATION"], DeskStep.fill("#new-transaction", "7")],
                [DeskStep.press("Create"), DeskStep.result("Use a transaction of this store.")],
                [DeskStep.fill("#new-transaction", "\(pack)"), DeskStep.press("Create")],
                [DeskStep.result("not of an auto-renewable subscription")],
            ]
            let answers = try await test.browse(steps.flatMap { $0 }, at: "#/notifications", refusals: 2)
            #expect(answers[0] == [.string(monthly.rawValue)])
            #expect(answers[1] == ["METADATA_UPDATE", "MIGRATION", "PRICE_CHANGE", "EXTERNAL_PURCHASE_TOKEN"])
            #expect(answers[2...3] == [true, false] && answers[5...6] == [false, true])
            let command = "souk store notifications create"
            #expect(
                answers[4].stringValue?.hasPrefix("\(command) PRICE_CHANGE --transaction \(monthly) --url") == true)
            #expect(
                answers[7].stringValue?.hasPrefix("\(command) EXTERNAL_PURCHASE_TOKEN --subtype CREATED --url") == true)
            let written = try test.store.notifications().filter {
                !["SUBSCRIBED", "ONE_TIME_CHARGE"].contains($0.type)
            }
            #expect(
                written.map(\.type) == ["PRICE_CHANGE", "MIGRATION", "METADATA_UPDATE", "EXTERNAL_PURCHASE_TOKEN"])
            #expect(written.map(\.subtype) == [nil, nil, nil, "CREATED"])
            #expect(written.map(\.transactionID) == [monthly, monthly, monthly, nil])
        }
    }

    @Test func `the keyboard alone opens a retention message, closes it, and reviews an upload`() async throws {
        try await TestStore.with { test in
            try await Self.uploadDefault(try ServerClient(test))
            try await test.buy("monthly")
            let (image, label) = (
                Self.full.uuidString.lowercased(), "document.activeElement.getAttribute('aria-label')"
            )
            let answers = try await test.browse([
                DeskStep.transactions(1), ["focus": "#subscriptions button:has-text(\"Retention message\")"],
                ["press": "Enter"], DeskStep.wait("document.querySelector('#sheet').open"), ["focus": "#field-locale"],
                ["press": "Enter"], DeskStep.wait("document.querySelector('.screen') !== null"),
                DeskStep.wait("document.activeElement.textContent === 'Retention message'"),
                ["focus": ".screen button"], ["press": "Enter"],
                DeskStep.wait("document.querySelector('.screen') === null"), ["focused": true],
                ["focus": "nav a[data-view=retention]"], ["press": "Enter"],
                DeskStep.wait("document.querySelector('#uploaded-images button') !== null"),
                ["focus": .string("#uploaded-images button[aria-label=\"Reject image \(image)\"]")],
                ["press": "Enter"], DeskStep.wait("document.querySelector('#uploaded-images .bad') !== null"),
                DeskStep.answer("document.activeElement.id"),
                ["focus": "#screens tbody button"], ["press": "Enter"],
                DeskStep.wait("document.querySelector('#screens .more') !== null"), ["focused": true],
                DeskStep.answer("\(label)"),
            ])
            #expect(answers == ["Retention message", "uploaded-images", "Close", "Details of screen 1"])
        }
    }

    @Test(arguments: [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark"), (1920, "light")])
    func `an accessibility engine finds nothing wrong in retention messages and created notifications`(
        width: Int, scheme: String
    ) async throws {
        let server = RealtimeServer()
        try await TestStore.with(
            change: {
                $0.notificationTransport = server
                $0.realtimeTimeout = .seconds(60)
            }
        ) { test in
            let client = try ServerClient(test)
            try await Self.uploadDefault(client)
            try await test.set(.retentionReview, true)
            _ = try await client.uploadMessage()
            try await test.store.reviewRetentionMessage(try await client.uploadMessage(), .rejected)
            try await test.store.set(.notificationsURL, to: "http://127.0.0.1:1/")
            try await test.set(.realtimeURL, .string(RealtimeServer.url))
            for product: ProductID in ["monthly", "weekly"] { try await test.buy(product) }
            let pause = DeskStep.answer("new Promise((done) => setTimeout(() => done(null), 150))")
            let steps: [[JSONValue]] = [
                [DeskStep.transactions(2), DeskStep.press("Retention message monthly"), pause, ["axe": true]],
                DeskStep.confirm,
                [DeskStep.result("The customer saw"), DeskStep.press("Retention message weekly")], DeskStep.confirm,
                [DeskStep.wait("document.querySelectorAll('.screen').length === 2"), ["axe": true], DeskStep.fits],
                [DeskStep.click("nav a:has-text(\"Retention\")")],
                [DeskStep.wait("document.querySelectorAll('#screens tbody tr').length === 2")],
                [DeskStep.click("#screens tbody tr:nth-child(2) button")],
                [DeskStep.click("#screens tbody tr:nth-child(1) button"), pause, ["axe": true], DeskStep.fits],
                [
                    // The hidden label of the last column is a pixel wide.
                    DeskStep.answer(
                        "(() => { const box = document.querySelector('#screens .scrolling'); return box.scrollWidth <= box.clientWidth + 1; })()"
                    )
                ],
                [DeskStep.click("nav a:has-text(\"Notifications\")"), ["axe": true], DeskStep.fits],
                [["select": "#new-type", "option": "EXTERNAL_PURCHASE_TOKEN"], ["axe": true], DeskStep.fits],
            ]
            let answers = try await test.browse(steps.flatMap { $0 }, width: width, scheme: scheme)
            #expect(answers == [.null, [], [], true, .null, [], true, true, [], true, [], true], "\(answers)")
        }
    }
}
