import GooglePlay
import HTTPCore
import StoreModel
import WebPages

/// The page of the simulator for a browser: accounts, products, purchases, subscriptions, notifications, settings and
/// the clock of the store.
///
/// The server renders the frame and the settings. The script of the page calls the store's own HTTP API for the rest,
/// and shows every value as text.
struct FrontDeskPage: Sendable {
    /// The app that the store sells for.
    var bundleID: BundleID
    /// The app on Google Play; `nil` if the store has no Google Play.
    var playPackage: PackageName?
    /// The addresses of the store's APIs and their documentation.
    var links: [IndexPage.Link]

    /// The response with the page.
    var response: HTTPResponse { HTTPResponse(page: page) }

    /// The page before its script has loaded data.
    var page: Page {
        var page = Page(
            title: "App Store simulator · \(bundleID.rawValue)", body: body, styles: [Self.style, Self.contentStyle],
            scripts: [
                Self.basicsScript, Self.actionScript, Self.documentScript, Self.accountScript, Self.productScript,
                Self.offerCodeScript, Self.transactionScript, Self.timelineScript, Self.seatScript,
                Self.subscriptionScript, Self.playScript, Self.playListScript, Self.familyScript, Self.retentionScript,
                Self.notificationScript,
                Self.scenarioScript, Self.settingScript, Self.faultScript, Self.clockScript,
                Self.liveScript,
            ])
        page.asksItsServer = true
        return page
    }

    private var body: HTML {
        """
        <a class="skip" href="#main">Skip to the content</a>
        <header>
        <div class="brand"><h1>App Store simulator</h1><p class="soft">The app <code>\(bundleID.rawValue)</code></p></div>
        \(clock)
        <nav aria-label="Views">
        <a href="#/accounts" data-view="accounts">Accounts</a><a href="#/families" data-view="families">Families</a>\
        <a href="#/play" data-view="play">Google Play</a>\
        <a href="#/notifications" data-view="notifications">Notifications</a>\
        <a href="#/retention" data-view="retention">Retention</a>\
        <a href="#/scenarios" data-view="scenarios">Scenarios</a>\
        <a href="#/settings" data-view="settings">Settings</a>\
        <a href="#/settings" id="faults-note" class="warn" hidden></a>
        <span id="connection" class="warn" role="status"></span>
        </nav>
        </header>
        <noscript><p class="notice">This page needs JavaScript. The store's APIs are listed at the end.</p></noscript>
        <main id="main" tabindex="-1">
        \(accountsView)
        \(familiesView)
        \(playView)
        \(notificationsView)
        \(retentionView)
        \(scenariosView)
        \(settingsView)
        </main>
        <footer>
        <section id="result" aria-label="Last action">
        <p id="outcome" role="status">Each action shows its command here.</p>
        <div class="command" id="last-command" hidden><code tabindex="0" role="region" aria-label="Command"></code><button type="button">Copy</button></div>
        <details id="earlier" hidden><summary>Earlier commands</summary><ol></ol></details>
        </section>
        </footer>
        <section class="addresses soft" aria-label="Addresses">
        <ul>\(linkItems)</ul>
        <p>Apple's App Store Server API is below /inApps/, receipts are checked at /verifyReceipt. The files \
        FrontDesk.md, Simulator.md, ControlAPI.md and ServerAPI.md in the folder Documentation of Souk describe all of it.</p>
        </section>
        \(sheet)
        """
    }

    private var clock: HTML {
        """
        <section class="clock" aria-label="Virtual time">
        <p class="now"><time id="now">…</time> <span id="speed" class="soft"></span></p>
        <div class="buttons" role="group" aria-label="Advance the time">
        \(Self.steps.map(Self.button(advancingBy:)).joined())
        <button type="button" id="to-next" hidden>To the next date</button>
        </div>
        <div class="buttons">
        <button type="button" id="pause" disabled>Pause</button>
        <label for="rate">Speed</label>
        <select id="rate">\(TimeRate.names.map(Self.option(rate:)).joined())</select>
        </div>
        <p id="next" class="soft"></p>
        <details id="later" hidden><summary>Later dates</summary><ol></ol></details>
        </section>
        """
    }

    private var linkItems: HTML {
        links.map { link in "<li><a href=\"\(link.path)\">\(link.path)</a> \(link.summary)</li>" }.joined()
    }

    private static let steps = [
        (period: "P1D", words: "1 day"), (period: "P1W", words: "1 week"), (period: "P1M", words: "1 month"),
        (period: "P1Y", words: "1 year"),
    ]

    private static func button(advancingBy step: (period: String, words: String)) -> HTML {
        """
        <button type="button" data-advance="\(step.period)" aria-label="Advance by +\(step.words)">+\(step.words)</button>
        """
    }

    private static func option(rate name: String) -> HTML {
        let words =
            switch name {
            case "real": "real time"
            case "frozen": "paused"
            default: name == "monthly-30s" ? name : "a month in \(name)"
            }
        return "<option value=\"\(name)\" data-factor=\"\(String(TimeRate(name)?.factor ?? 0))\">\(words)</option>"
    }

    /// The dialog of actions that take values or need a confirmation.
    private var sheet: HTML {
        """
        <dialog id="sheet" aria-labelledby="sheet-title">
        <form method="dialog">
        <h2 id="sheet-title"></h2>
        <p id="sheet-warning"></p>
        <div id="sheet-fields"></div>
        <div class="command"><code id="sheet-command"></code><button type="button" id="sheet-copy">Copy</button></div>
        <p id="sheet-fault" class="fault" role="alert"></p>
        <div class="buttons end"><button type="button" id="sheet-cancel">Cancel</button>\
        <button type="submit" id="sheet-go" class="main"></button></div>
        </form>
        </dialog>
        """
    }
}
