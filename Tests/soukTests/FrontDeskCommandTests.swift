import CurlTransport
import EntitlementServer
import Foundation
import HTTPCore
import HostTestSupport
import Primitives
import SignedData
import Testing

/// The `souk store` commands that the front desk shows, for every form and button of the page.
@Suite(.outsideJudge(OutsideJudge.python != nil, "SOUK_PYTHON names no interpreter with playwright"), .serialized)
struct FrontDeskCommandTests {
    private static let monthly = "com.example.darkroom.plus.monthly"
    private static let prints = "com.example.darkroom.prints.10"

    /// A PNG file of 512 × 512 pixels, whose pixels cannot be decoded.
    private static let picture =
        "iVBORw0KGgoAAAANSUhEUgAAAgAAAAIACAIAAAAAAAAAAAAAA0lEQVQxMjMAAAAAAAAAAElFTkQAAAAA"

    /// Uses each visible button, form, checkbox and menu of a view, and returns the request and the command of each.
    /// The requests that change something are not sent. Of a dialog it also returns the command of each choice.
    private static let useAll = """
        (async () => {
          const calls = [], found = [], silent = [], real = window.fetch;
          window.fetch = (path, options) => {
            if (options.method === "GET") return real(path, options);
            calls.push(options.method + " " + path);
            return Promise.reject(new TypeError("not sent"));
          };
          const line = document.querySelector("#last-command code"), sheet = document.querySelector("#sheet");
          const pause = () => new Promise((done) => setTimeout(done, 20));
          const isVisible = (element) => element.getClientRects().length > 0;
          const nameOf = (element) => element.getAttribute("aria-label") || (element.tagName === "SELECT" ? element.id : element.textContent);
          const complete = (box) => box.querySelectorAll("input[required]").forEach((input) => {
            if (input.disabled) return;
            if (input.type === "file") {
              const files = new DataTransfer();
              files.items.add(new File(["{}"], "life.json"));
              input.files = files.files;
              return;
            }
            for (const text of ["5.99", "DEU", "2"]) {
              if (input.value !== "" && input.checkValidity()) break;
              input.value = text;
              input.dispatchEvent(new Event("input", { bubbles: true }));
            }
          });
          const use = async (name, act) => {
            calls.length = 0;
            line.textContent = "";
            await act();
            await pause();
            if (sheet.open) {
              complete(sheet);
              for (const menu of sheet.querySelectorAll("select")) for (const option of menu.options) {
                menu.value = option.value;
                menu.dispatchEvent(new Event("input", { bubbles: true }));
                found.push({ control: name + ": " + option.text, command: document.querySelector("#sheet-command").textContent });
              }
              document.querySelector("#sheet-go").click();
              await pause();
              sheet.close();
            }
            if (calls.length === 0) silent.push(name);
            else found.push({ control: name, call: calls[0], command: line.textContent });
          };
          // The page can draw its controls again, so each control is found by its position.
          const each = async (selector, act) => {
            const all = () => [...document.querySelectorAll(selector)].filter(isVisible);
            for (let place = 0; place < all().length; place += 1) await use(nameOf(all()[place]), () => act(all()[place]));
          };
          await new Promise((done) => setTimeout(done, 400));
          for (const fold of [...document.querySelectorAll("main button[aria-expanded=false]")].filter(isVisible)) fold.click();
          await pause();
          await each("main button:not([aria-expanded]):not([type=submit]), header button", (button) => button.click());
          await each("main input[type=checkbox], header input[type=checkbox]", (box) => box.click());
          await each("main select:not(form:has([type=submit]) select), header select", (menu) => {
            menu.value = [...menu.options].find((option) => option.value !== menu.value).value;
            menu.dispatchEvent(new Event("change", { bubbles: true }));
          });
          await each("main form:has([type=submit])", async (form) => {
            complete(form);
            form.requestSubmit();
            for (const menu of form.querySelectorAll("#fault-name, #new-type, #new-subtype")) for (const option of menu.options) {
              await pause();
              found.push({ control: form.getAttribute("aria-label") + " " + menu.value, call: calls[calls.length - 1], command: line.textContent });
              menu.value = option.value;
              menu.dispatchEvent(new Event("change", { bubbles: true }));
              complete(form);
              form.requestSubmit();
            }
          });
          window.fetch = real;
          return { found, silent };
        })()
        """

    @Test func `every form and button that changes something has a souk store command, which the program accepts`()
        async throws
    {
        let folder = try TemporaryFolder()
        let service = try await SoukService([
            "simulate", "--catalog", try folder.write("shop.storekit", try DarkroomWithOffers.text()), "--data",
            folder.file("store"), "--time-rate", "frozen", "--notifications-url", "http://127.0.0.1:1/apple",
            "--play-catalog", try folder.write("play.json", try DarkroomOnGooglePlay.text()), "--play-rtdn-url",
            "http://127.0.0.1:1/google",
        ])
        try await fill(service)
        try await fillGooglePlay(service)
        try await upload(to: service)
        let views = ["account/ada", "families", "play", "notifications", "retention", "scenarios", "settings"]
        var steps: [JSONValue] = [["until": "document.querySelectorAll('#transactions tbody tr').length > 2"]]
        for view in views {
            steps += [["evaluate": .string("location.hash = '/\(view)'")], ["evaluate": .string(Self.useAll)]]
        }
        let verdict = try await OutsideJudge.judge(
            "browser.py",
            ["url": .string(service.url + "/#/account/ada"), "width": 1280, "height": 900, "steps": .array(steps)])
        let reports = (verdict.json?["answers"]?.arrayValue ?? []).filter { $0["found"] != nil }
        try #require(reports.count == views.count, "\(verdict.errors) \(verdict.output)")

        let controls = reports.flatMap { $0["found"]?.arrayValue ?? [] }
        for control in controls {
            let command = control["command"]?.stringValue ?? ""
            let isScenario = control["call"] == "POST /control/v1/scenarios/run"
            #expect(command.hasPrefix(isScenario ? "souk scenario run " : "souk store "), "\(control)")
        }
        // The rest of the controls only change what the page shows.
        let silent = Set(reports.flatMap { $0["silent"]?.arrayValue ?? [] }.compactMap(\.stringValue))
        #expect(
            silent.isSubset(of: [
                "Copy JWS", "Copy payload", "Copy token", "notification-account", "notification-type", "play-account",
            ]), "\(silent)")

        let used = Set(controls.compactMap { $0["call"]?.stringValue })
        let document = try await document(of: service.url)
        let changes = document.filter { $0.call.contains("/control/") && !$0.call.hasPrefix("GET ") }
        let missing = changes.filter { change in !used.contains { change.matches($0) } }.map(\.operation)
        #expect(missing == ["importState"], "The page has no control for other operations.")
        #expect(changes.count > 30 && controls.count > 100)
        try await accepts(controls.compactMap { $0["command"]?.stringValue }, folder)
        #expect(await service.stop() == 0)
    }

    /// Makes a store in which every action is possible.
    private func fill(_ service: SoukService) async throws {
        for words in [
            "account create ada", "account create bert", "family create home ada", "device sign-in ada",
            "device sign-in ada", "settings set seatInvitations apple", "buy ada \(Self.monthly) --quantity 2",
            "buy ada \(Self.prints)", "buy ada \(Self.prints)",
            "price-increase \(Self.monthly) 9.99", "advance 1d",
            "offer-code create \(Self.prints) launch --code LAUNCH --price 0.99",
            "product withdraw com.example.darkroom.plus.yearly", "settings set errors.purchase networkError",
            "buy ada \(Self.prints) --simulate-ask-to-buy", "account set ada --interrupted-purchases on",
            "buy ada \(Self.prints)", "account set ada --interrupted-purchases off",
        ] {
            let words = ["store", "--url", service.url] + words.split(separator: " ").map(String.init)
            let outcome = try await SoukExecutable.run(words)
            #expect(outcome.status == 0, "\(words): \(outcome.errors)")
        }
        let sales = try await SoukExecutable.run(["store", "--url", service.url, "transactions", "ada", "--json"]).json
        let bought = try #require(
            sales?["transactions"]?.arrayValue?.first { $0["productID"]?.stringValue == Self.prints })
        let id = try #require(bought["transactionID"]?.stringValue)
        #expect(try await SoukExecutable.run(["store", "--url", service.url, "refund", id]).status == 0)
    }

    /// Makes purchases on Google Play for which every action is possible.
    private func fillGooglePlay(_ service: SoukService) async throws {
        for (purchase, actions) in [
            ("plus", []), ("pro", ["pause TOKEN P1M", "hold TOKEN", "price-change TOKEN 9.99"]),
            ("max", ["cancel TOKEN"]), ("ultra", ["refund TOKEN"]), ("credits", []),
            ("gems --pending", []),
        ] {
            let buy =
                ["store", "--url", service.url, "play", "buy", "ada"] + purchase.split(separator: " ").map(String.init)
            let bought = try await SoukExecutable.run(buy + ["--json"])
            let token = try #require(bought.json?["purchaseToken"]?.stringValue, "\(bought.errors)")
            for action in actions {
                let words = action.split(separator: " ").map { $0 == "TOKEN" ? token : String($0) }
                let outcome = try await SoukExecutable.run(["store", "--url", service.url, "play"] + words)
                #expect(outcome.status == 0, "\(action): \(outcome.errors)")
            }
        }
    }

    /// Uploads a message and an image, which wait for a review.
    private func upload(to service: SoukService) async throws {
        let set = ["store", "--url", service.url, "settings", "set", "retentionReview", "true"]
        #expect(try await SoukExecutable.run(set).status == 0)
        let api = try #require(service.greeting["serverAPI"])
        let file = URL(fileURLWithPath: try #require(api["privateKey"]?.stringValue))
        let client = AppStoreServerAPIClient(
            configuration: .init(
                key: AppStoreConnectKey(
                    try SigningKey(Array(Data(contentsOf: file))), id: try #require(api["keyID"]?.stringValue),
                    issuerID: try #require(api["issuerID"]?.stringValue), bundleID: "com.example.souk"),
                baseURL: service.url), transport: CurlTransport.platformDefault())
        try await client.uploadImage(UUID(), try #require(Base64.decode(Self.picture)), size: .bulletPoint)
        try await client.uploadMessage(
            UUID(),
            .init {
                $0.header = "Stay"
                $0.body = "You keep your photos."
            })
    }

    /// Runs each command in a shell, with an address at which no program listens. A valid command exits with 1, because
    /// it reaches no simulator. An unknown command, option or value exits with 2.
    private func accepts(_ commands: [String], _ folder: TemporaryFolder) async throws {
        let lines = Set(commands.map { $0.replacing(/http:\/\/127\.0\.0\.1:[0-9]+/, with: "http://127.0.0.1:1") })
            .filter { $0.hasPrefix("souk store ") }.sorted()
        let script = try folder.write(
            "commands.sh",
            "souk() { \"$SOUK\" \"$@\" > \"$1.out\" 2>&1; echo $?; }\n" + lines.joined(separator: "\n") + "\n")
        let outcome = try await ChildProgram.run(
            "/bin/sh", [script], environment: ["SOUK": SoukExecutable.path()], in: folder.path)
        let statuses = outcome.output.split(separator: "\n")
        #expect(statuses.count == lines.count && outcome.errors.isEmpty, "\(outcome.errors)")
        for (line, status) in zip(lines, statuses) { #expect(status == "1", "\(line)") }
    }

    /// An operation of the simulator, with its method and path.
    private struct Operation {
        var operation: String
        var call: String

        /// Whether a request is one of this operation.
        func matches(_ request: String) -> Bool {
            let (mine, other) = (call.split(separator: "/"), request.split(separator: "/"))
            return mine.count == other.count && zip(mine, other).allSatisfy { $0 == $1 || $0.hasPrefix("{") }
        }
    }

    private func document(of url: String) async throws -> [Operation] {
        let request = HTTPRequest(method: .get, url: url + "/openapi.json")
        let json = try await CurlTransport.platformDefault().send(request).body.json(upTo: 8 << 20)
        return try #require(json["paths"]?.objectValue).flatMap { path, item in
            (item.objectValue ?? [:]).compactMap { method, operation in
                operation["operationId"]?.stringValue.map {
                    Operation(operation: $0, call: "\(method.uppercased()) \(path)")
                }
            }
        }
    }
}

/// The products of the photo app, with an offer of each kind for one plan.
enum DarkroomWithOffers {
    static func text() throws -> String {
        var catalogue = try JSONValue(parsing: String(contentsOfFile: TestFiles.darkroom, encoding: .utf8))
        let code: JSONValue = [
            "referenceName": "spring", "paymentMode": "payUpFront", "displayPrice": "0.99", "subscriptionPeriod": "P1M",
            "numberOfPeriods": 2, "eligibility": ["new", "expired"],
        ]
        let always: JSONValue = [
            "referenceName": "always", "paymentMode": "free", "subscriptionPeriod": "P1M",
            "eligibility": ["new", "existing", "expired"],
        ]
        let promotional: JSONValue = ["offerID": "half", "paymentMode": "free", "subscriptionPeriod": "P1M"]
        let winBack: JSONValue = ["offerID": "back", "paymentMode": "free", "subscriptionPeriod": "P1M"]
        catalogue["subscriptionGroups"] = .array(
            (catalogue["subscriptionGroups"]?.arrayValue ?? []).map { group in
                var group = group
                group["subscriptions"] = .array(
                    (group["subscriptions"]?.arrayValue ?? []).map { plan in
                        var plan = plan
                        guard plan["productID"] == "com.example.darkroom.plus.monthly" else { return plan }
                        plan["codeOffers"] = [code, always]
                        plan["adHocOffers"] = [promotional]
                        plan["winbackOffers"] = [winBack]
                        return plan
                    })
                return group
            })
        return catalogue.text()
    }
}

/// The catalogue of the photo app on Google Play with more products, so that an account can have several at once.
enum DarkroomOnGooglePlay {
    static func text() throws -> String {
        let file = TestFiles.repository + "/Examples/darkroom.play.json"
        var catalogue = try JSONValue(parsing: String(contentsOfFile: file, encoding: .utf8))
        for (list, names) in [("subscriptions", ["pro", "max", "ultra"]), ("oneTimeProducts", ["gems"])] {
            let first = try #require(catalogue[list]?[0])
            let others = names.map { name in
                var other = first
                other["productId"] = .string(name)
                return other
            }
            catalogue[list] = .array([first] + others)
        }
        return catalogue.text()
    }
}
