import Foundation
import HTTPCore
import HostTestSupport
import Primitives
import SimulatorControl
import StoreKitAdapter
import StoreModel
import Testing

@testable import AppStoreSimulator

/// The front desk, after hostile text was sent to every place of the store's API that takes text.
@Suite(.outsideJudge(OutsideJudge.python != nil, "SOUK_PYTHON names no interpreter with playwright"), .serialized)
struct FrontDeskHostileTextTests {
    private static let texts = [
        "</script><script>alert(1)</script>", "\"'><img src=x onerror=alert(2)><svg/onload=alert(3)>",
        "javascript:alert(4)",
    ]

    /// Opens every view, and every dialog for every account. Returns markup that came from a value, and each element
    /// that is outside of the window.
    private static let walk = """
        (async () => {
          const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));
          const isVisible = (element) => element.getClientRects().length > 0;
          const faults = [], sheet = document.querySelector("#sheet"), seen = { accounts: 0, dialogs: 0, purchases: 0 };
          const check = (place) => {
            if (document.scripts.length !== 1) faults.push(place + ": another script");
            for (const element of document.querySelectorAll("*")) {
              if (["IMG", "IFRAME", "OBJECT", "EMBED", "BASE"].includes(element.tagName)) faults.push(place + ": " + element.tagName);
              for (const { name, value } of element.attributes) {
                if (name.startsWith("on")) faults.push(place + ": the attribute " + name);
                if (["href", "src", "action", "formaction"].includes(name) && new URL(value, location).origin !== location.origin) faults.push(place + ": " + value);
              }
            }
            if (document.documentElement.scrollWidth > innerWidth) faults.push(place + ": the page is wider than the window");
            for (const element of document.querySelectorAll("body *")) {
              const { left, right, width } = element.getBoundingClientRect();
              if (width > 0 && (right > innerWidth + 1 || left < -1) && !element.closest(".scrolling, pre, svg, .skip, #sheet-command, #last-command code"))
                faults.push(place + ": outside of the window is " + element.tagName + " " + element.id + " " + element.className);
            }
          };
          const accounts = [...document.querySelectorAll("#accounts a")].map((link) => [link.getAttribute("href"), link.querySelector(".name").textContent]);
          for (const [view, name] of [...accounts.flatMap((account) => [account, ["#/play"]]), ["#/families"], ["#/notifications"], ["#/retention"], ["#/scenarios"], ["#/settings"]]) {
            location.hash = view;
            await pause(500);
            if (name !== undefined) {
              seen.accounts += 1;
              const isShown = () => document.querySelector("#account-title").textContent === name;
              for (let waits = 0; waits < 40 && !isShown(); waits += 1) await pause(250);
              if (!isShown()) faults.push(view + ": another account is shown");
            }
            if (view === "#/play") seen.purchases += [...document.querySelectorAll("#play-purchases li")].filter(isVisible).length;
            for (const fold of [...document.querySelectorAll("main [aria-expanded=false]")].filter(isVisible).slice(0, 3)) fold.click();
            for (const fold of document.querySelectorAll("details")) fold.open = true;
            await pause(50);
            check(view);
            for (const opener of [...document.querySelectorAll("main [aria-haspopup=dialog]")].filter(isVisible)) {
              opener.click();
              seen.dialogs += 1;
              check(view + ", " + document.querySelector("#sheet-title").textContent);
              sheet.close();
            }
          }
          return { faults: [...new Set(faults)].slice(0, 20), seen };
        })()
        """

    @Test(arguments: [390, 1280])
    func `no hostile text adds a script or markup, or extends beyond the window, in any view`(width: Int) async throws {
        let receiver = Receiver { _ in 500 }
        let catalogue = try Catalogue(
            parsing: HostileCatalogue.json(Self.texts.joined()).encoded(), file: "hostile.storekit")
        let playCatalogue = try PlayCatalogue(
            parsing: HostileCatalogue.play(Self.texts.joined()).encoded(), file: "hostile.play.json")
        let folder = try ScratchFolder()
        try PlayFixtures.writeKeys(to: folder)
        try await TestStore.with(
            in: folder,
            change: {
                $0.catalogue = catalogue
                $0.playCatalogue = playCatalogue
                $0.notificationTransport = receiver
            }
        ) { test in
            var count = 0
            for text in Self.texts { count += try await Self.send(text, to: test) }
            #expect(count > 100 * Self.texts.count)
            try await test.importHostileNames(Self.texts)
            for text in Self.texts { try await test.showHostileMessage(text) }
            let answers = try await test.browse(
                [
                    DeskStep.wait("document.querySelectorAll('#accounts a').length >= \(Self.texts.count)"),
                    DeskStep.answer(Self.walk),
                ], width: width)
            #expect(answers.first?["faults"] == [], "\(answers)")
            #expect((answers.first?["seen"]?["accounts"]?.intValue ?? 0) >= Self.texts.count)
            #expect((answers.first?["seen"]?["dialogs"]?.intValue ?? 0) > 60, "\(answers)")
            #expect((answers.first?["seen"]?["purchases"]?.intValue ?? 0) >= 2 * Self.texts.count, "\(answers)")
        }
    }

    /// Sends each operation with `text` at each place that takes text. Returns the number of requests.
    private static func send(_ text: String, to test: TestStore) async throws -> Int {
        let client = StoreRoutesTests.Client(test)
        let names = try await HostileNames(text, test)
        var count = 0
        for endpoint in StoreEndpoints.all where endpoint.tag != .documents && endpoint.id != "importState" {
            var places = endpoint.pathParameters.map { ["{\($0)}"] } + endpoint.query.map { ["?\($0.name)"] }
            places += endpoint.body.map { Self.texts(in: $0.schema) } ?? []
            for place in places {
                let name = place.joined(separator: ".")
                var path = endpoint.path { name == "{\($0)}" ? PercentEncoding.encode(text) : names.path[$0] ?? "1" }
                if name.hasPrefix("?") { path += name + "=" + PercentEncoding.encode(text) }
                let body = endpoint.body.map { names.body($0.schema, text, at: place).text() } ?? ""
                let answer = try await client.ask(endpoint.method, path, body)
                #expect(answer.status < 500, "\(endpoint.id) \(name): \(answer)")
                count += 1
            }
        }
        return count
    }

    /// The places of a schema that take text, as paths of member names.
    private static func texts(in schema: WireSchema, depth: Int = 0) -> [[String]] {
        guard depth < 4, let members = schema.definition.json["properties"]?.objectValue else { return [] }
        return members.flatMap { name, member -> [[String]] in
            if let reference = member["$ref"]?.stringValue {
                let named = schema.definition.named.first { reference.hasSuffix("/\($0.name)") }
                return named.map { texts(in: $0.schema(), depth: depth + 1).map { [name] + $0 } } ?? []
            }
            return member["type"] == "string" || member["type"]?[0] == "string" ? [[name]] : []
        }
    }
}

/// Accounts, a family and purchases with hostile names, and the values of a valid request about them.
private struct HostileNames {
    private(set) var path: [String: String] = [:]
    private var values: [String: JSONValue] = [:]

    init(_ text: String, _ test: TestStore) async throws {
        let store = test.store, account = AccountName(unchecked: "a" + text)
        let other = AccountName(unchecked: "b" + text)
        for name in [account, other] { try await store.createAccount(name) }
        _ = try await store.createFamily(FamilyName(unchecked: text), organizer: account)
        try await store.set(.notificationsURL, to: .string("http://127.0.0.1:1/" + text))
        try await store.set(.playNotificationsURL, to: .string("http://127.0.0.1:1/" + text))
        let bodies: [StoreControlWire.PlayBuy] = [
            .init(productID: "plus", obfuscatedAccountID: text, obfuscatedProfileID: text),
            .init(productID: "coins", quantity: 2, obfuscatedAccountID: text),
        ]
        var token = ""
        for buy in bodies { token = try await store.playBuy(buy, for: account).purchaseToken }
        _ = try await store.requestPlayChargeback(token)
        try await store.deliverPlayNotifications()
        let products = store.catalogues.home.products.map(\.id)
        for product in products { try await test.buy(product, account) }
        let bought = try #require(try await store.transactions(of: account).first).transactionID
        try await store.buy(products[0], for: account, simulatesAskToBuy: true)
        let device = try await store.signIn(account: account).deviceID
        try await store.promote(products[0], for: account)
        path = [
            "account": account.rawValue, "member": account.rawValue, "family": text, "product": products[1].rawValue,
            "device": device, "transaction": bought.rawValue, "notification": UUID().uuidString,
            "setting": "notificationsURL", "message": "message", "purchase": token,
        ].mapValues(PercentEncoding.encode)
        values = [
            "account": .string(account.rawValue), "organizer": .string(other.rawValue), "name": .string("c" + text),
            "productID": .string(products[1].rawValue), "code": .string("c" + text), "id": "payment", "answer": "show",
            "price": "5.99", "agrees": true, "decision": "approve", "value": "off", "timeRate": "frozen",
            "kind": "promotional", "timestamp": 1, "nonce": .string(UUID().uuidString), "signature": "AAAA",
        ]
    }

    /// Returns a body with the required members, and `text` at a place.
    func body(_ schema: WireSchema, _ text: String, at place: [String]) -> JSONValue {
        let definition = schema.definition
        var body: JSONValue = [:]
        for name in (definition.json["required"]?.arrayValue ?? []).compactMap(\.stringValue) {
            body[name] = values[name] ?? "x"
        }
        guard let name = place.first else { return body }
        let reference = definition.json["properties"]?[name]?["$ref"]?.stringValue
        let member = definition.named.first { reference?.hasSuffix("/\($0.name)") == true }
        body[name] = member.map { self.body($0.schema(), text, at: Array(place.dropFirst())) } ?? .string(text)
        return body
    }
}

extension TestStore {
    /// Writes hostile text into columns in which only an imported state can have it.
    fileprivate func importHostileNames(_ texts: [String]) async throws {
        var state = try await store.exportState()
        var count = 0
        for (table, column) in [
            ("device", "id"), ("notification", "type"), ("notification", "subtype"), ("attempt", "result"),
            ("purchase", "currency"), ("run", "currency"), ("subscription", "next_currency"),
            ("promoted_purchase", "offer"), ("play_attempt", "result"),
        ] {
            let rows = try #require(state["tables"]?[table]?.arrayValue)
            #expect(!rows.isEmpty, "\(table)")
            state["tables"]?[table] = .array(
                rows.map { row in
                    var row = row
                    count += 1
                    let unique = column == "id" ? "\(count)" : ""
                    row[column] = .string(texts[count % texts.count] + unique)
                    return row
                })
        }
        for (table, places) in [
            (
                "play_purchase",
                [
                    ["subscription", "_0", "info", "title"], ["subscription", "_0", "terms", "basePlanID"],
                    ["subscription", "_0", "terms", "offerID"], ["product", "_0", "info", "title"],
                    ["product", "_0", "optionID"],
                ]
            ),
            ("play_order", [["state"], ["subscriptionDetails", "offerPhase"], ["total", "currencyCode"]]),
        ] {
            let rows = try #require(state["tables"]?[table]?.arrayValue)
            #expect(!rows.isEmpty, "\(table)")
            state["tables"]?[table] = .array(
                try rows.map { row in
                    var row = row
                    count += 1
                    var body = try JSONValue(parsing: try #require(row["body"]?.stringValue))
                    for place in places { body = Self.writing(texts[count % texts.count], at: place[...], in: body) }
                    row["body"] = .string(body.text())
                    return row
                })
        }
        try await store.importState(state)
    }

    /// Returns a document with a string at a place, if the object there exists.
    private static func writing(_ text: String, at place: ArraySlice<String>, in value: JSONValue) -> JSONValue {
        guard let name = place.first else { return .string(text) }
        guard case .object(var members) = value, place.count == 1 || members[name] != nil else { return value }
        members[name] = writing(text, at: place.dropFirst(), in: members[name] ?? .null)
        return .object(members)
    }
}

extension TestStore {
    /// Uploads a message with hostile text in every member, which a customer with a hostile name sees before cancelling.
    fileprivate func showHostileMessage(_ text: String) async throws {
        let (client, message, full, bullet) = (try ServerClient(self), UUID(), UUID(), UUID())
        try await client.upload(Pictures.full, full)
        try await client.upload(Pictures.bullet, bullet, size: "BULLET_POINT")
        let hostile = JSONValue.string(text)
        let body: JSONValue = [
            "header": hostile, "body": hostile,
            "image": ["imageIdentifier": .string(full.uuidString), "altText": hostile],
            "bulletPoints": [
                ["text": hostile, "imageIdentifier": .string(bullet.uuidString), "altText": hostile]
            ],
        ]
        #expect(try await client.upload(message: body, message) == nil)
        let plan = try #require(store.catalogues.home.products.first { $0.subscription != nil }).id
        let locale = SimulatedAppStore.defaultLocale(of: store.configuration)
        try await store.setDefaultMessage(message, of: plan, locale: locale)
        let account = AccountName(unchecked: "r" + text)
        try await store.createAccount(account)
        try await buy(plan, account)
        #expect(try await store.showRetentionMessage(of: plan, for: account).messageIdentifier == message)
    }
}

/// A catalogue with hostile text in every member that the page shows.
enum HostileCatalogue {
    /// A catalogue of Google Play. Its identifiers cannot be hostile.
    static func play(_ hostile: String) -> JSONValue {
        let listings: JSONValue = [["languageCode": "en-US", "title": .string(hostile)]]
        let tags: JSONValue = [["tag": .string(hostile)]]
        let price: JSONValue = ["currencyCode": "USD", "units": "4"]
        return [
            "packageName": "com.example.hostile", "regionCode": "US",
            "oneTimeProducts": [
                [
                    "productId": "coins", "listings": listings,
                    "purchaseOptions": [
                        [
                            "purchaseOptionId": "buy", "state": "ACTIVE", "offerTags": tags,
                            "buyOption": ["multiQuantityEnabled": true],
                            "regionalPricingAndAvailabilityConfigs": [["regionCode": "US", "price": price]],
                        ]
                    ],
                ]
            ],
            "subscriptions": [
                [
                    "productId": "plus", "listings": listings,
                    "basePlans": [
                        [
                            "basePlanId": "monthly", "state": "ACTIVE", "offerTags": tags,
                            "autoRenewingBasePlanType": ["billingPeriodDuration": "P1M"],
                            "regionalConfigs": [
                                ["regionCode": "US", "newSubscriberAvailability": true, "price": price]
                            ],
                        ]
                    ],
                ]
            ],
        ]
    }

    static func json(_ hostile: String) -> JSONValue {
        let text = JSONValue.string(hostile)
        let localizations: JSONValue = [["displayName": text, "description": text, "locale": "en_US"]]
        return [
            "version": ["major": 4, "minor": 0], "settings": ["_storefront": "USA", "_locale": "en_US"],
            "products": [
                ["productID": text, "type": "Consumable", "displayPrice": "0.99", "localizations": localizations]
            ],
            "subscriptionGroups": [
                [
                    "id": text, "name": text, "localizations": localizations,
                    "subscriptions": [
                        [
                            "productID": .string("s" + hostile), "displayPrice": "4.99",
                            "recurringSubscriptionPeriod": "P1M", "groupNumber": 1, "localizations": localizations,
                            "introductoryOffer": ["paymentMode": "free", "subscriptionPeriod": "P1W"],
                            "adHocOffers": [
                                [
                                    "offerID": text, "paymentMode": "payUpFront", "subscriptionPeriod": "P2M",
                                    "displayPrice": "4.99",
                                ]
                            ],
                            "winbackOffers": [
                                ["offerID": .string("w" + hostile), "paymentMode": "free", "subscriptionPeriod": "P1W"]
                            ],
                            "codeOffers": [
                                [
                                    "referenceName": .string("c" + hostile), "paymentMode": "free",
                                    "subscriptionPeriod": "P1M", "eligibility": ["new", "existing", "expired"],
                                ]
                            ],
                        ]
                    ],
                ]
            ],
        ]
    }
}
