import AppStorePayloads
import WebPages

extension FrontDeskPage {
    /// The list of accounts, and the details of the chosen account.
    var accountsView: HTML {
        """
        <div class="view columns" data-panel="accounts">
        <section class="card pane" aria-labelledby="accounts-title">
        <h2 id="accounts-title">Accounts</h2>
        <ul id="accounts" class="list"></ul>
        <p id="no-accounts" class="soft" hidden>The store has no accounts yet. Create the first one.</p>
        <form id="new-account" class="stack" aria-label="Create an account">
        <label for="account-name">Name of a new account</label>
        <input id="account-name" maxlength="255" autocomplete="off" spellcheck="false" required>
        <label for="account-storefront">Storefront (optional)</label>
        <input id="account-storefront" pattern="[A-Z]{3}" maxlength="3" placeholder="USA" autocomplete="off" \
        title="Three capital letters, such as USA or DEU">
        <button type="submit" class="main">Create account</button>
        </form>
        </section>
        <div id="desk" class="desk" hidden>
        <section class="card pane" aria-labelledby="account-title">
        <h2 id="account-title" tabindex="-1"></h2>
        <div id="account"></div>
        </section>
        <section class="card pane" id="waiting-box" aria-labelledby="waiting-title" hidden>
        <h3 id="waiting-title">Purchases that wait</h3>
        <ul id="waiting" class="list"></ul>
        </section>
        <section class="card pane" id="promoted-box" aria-labelledby="promoted-title" hidden>
        <h3 id="promoted-title">Promoted purchases</h3>
        <p class="soft">They began on the page of the app in the App Store. The first device of the account that takes one \
        completes it.</p>
        <ul id="promoted" class="list" aria-labelledby="promoted-title"></ul>
        </section>
        <section class="card pane" id="products-box" aria-labelledby="products-title">
        <h3 id="products-title">Products</h3>
        <ul id="products" class="products"></ul>
        <div id="codes-box" class="stack" hidden>
        <h3 id="codes-title">Offer codes</h3>
        <ul id="codes" class="list" aria-labelledby="codes-title"></ul>
        </div>
        <div class="stack">
        <h3 id="code-batches-title">Created offer codes</h3>
        <ul id="code-batches" class="list" aria-labelledby="code-batches-title"></ul>
        </div>
        <div id="win-backs-box" class="stack" hidden>
        <h3 id="win-backs-title">Win-back offers</h3>
        <ul id="win-backs" class="list" aria-labelledby="win-backs-title"></ul>
        </div>
        <form id="redeem" class="inline" aria-label="Redeem an offer code">
        <label for="code">Offer code</label>
        <input id="code" maxlength="255" autocomplete="off" spellcheck="false" required>
        <label for="code-product">Product</label>
        <select id="code-product"></select>
        <button type="submit">Redeem</button>
        </form>
        <div id="withdrawn-box" class="stack" hidden>
        <h3 id="withdrawn-title">Withdrawn from sale</h3>
        <ul id="withdrawn" class="list" aria-labelledby="withdrawn-title"></ul>
        </div>
        </section>
        <section class="card pane" aria-labelledby="subscriptions-title">
        <h3 id="subscriptions-title">Subscriptions</h3>
        <div id="subscriptions"></div>
        </section>
        <section class="card pane" aria-labelledby="transactions-title">
        <h3 id="transactions-title">Transactions</h3>
        <div id="transactions"></div>
        </section>
        </div>
        </div>
        """
    }

    /// The families and their members.
    var familiesView: HTML {
        Self.view(
            "families", titled: "Families",
            """
            <p class="soft">The members share products through Family Sharing. Removing the organizer ends the family.</p>
            <ul id="families" class="list"></ul>
            <form id="new-family" class="inline" aria-label="Create a family">
            <label for="family-name">Name of a new family</label>
            <input id="family-name" maxlength="255" autocomplete="off" spellcheck="false" required>
            <label for="family-organizer">Organizer</label>
            <select id="family-organizer" required></select>
            <button type="submit" class="main">Create family</button>
            </form>
            """)
    }

    /// The products of Google Play, and the purchases, orders and notifications of the chosen account.
    var playView: HTML {
        guard let playPackage else {
            return Self.view(
                "play", titled: "Google Play",
                "<p class=\"soft\">This store has no Google Play. Start souk simulate with --play-catalog.</p>")
        }
        return """
            <div class="view" data-panel="play" hidden>
            <section class="card pane" aria-labelledby="play-title">
            <h2 id="play-title">Google Play</h2>
            <p class="soft">The app <code>\(playPackage.rawValue)</code>. The accounts and the time are those of the App \
            Store.</p>
            <form id="play-choice" class="inline" aria-label="Choose an account">
            <label for="play-account">Account</label>
            <select id="play-account"></select>
            </form>
            <p id="play-no-account" class="soft" hidden>The store has no accounts yet. Create one in the view Accounts.</p>
            </section>
            <div id="play-desk" class="desk" hidden>
            <section class="card pane" aria-labelledby="play-products-title">
            <h3 id="play-products-title">Products</h3>
            <ul id="play-products" class="products"></ul>
            </section>
            <section class="card pane" aria-labelledby="play-purchases-title">
            <h3 id="play-purchases-title">Purchases</h3>
            <div id="play-purchases"></div>
            </section>
            <section class="card pane" aria-labelledby="play-orders-title">
            <h3 id="play-orders-title">Orders</h3>
            <div id="play-orders"></div>
            </section>
            <section class="card pane" aria-labelledby="play-notifications-title">
            <h3 id="play-notifications-title">Real-time developer notifications</h3>
            <p id="play-notifications-note" class="soft"></p>
            <div id="play-notification-buttons" class="buttons"></div>
            <div id="play-notifications"></div>
            </section>
            </div>
            </div>
            """
    }

    /// The notifications to the app's server.
    var notificationsView: HTML {
        Self.view(
            "notifications", titled: "Notifications to the app's server",
            """
            <p id="notifications-note" class="soft"></p>
            <form id="notification-filter" class="inline" role="search" aria-label="Filter the notifications">
            <label for="notification-account">Account</label>
            <select id="notification-account"></select>
            <label for="notification-type">Type</label>
            <select id="notification-type"></select>
            <button type="button" id="deliver">Deliver now</button>
            </form>
            <form id="new-notification" class="inline" aria-label="Create a notification">
            <label for="new-type">New notification</label>
            <select id="new-type" aria-describedby="new-about">\
            \((SimulatedAppStore.createdTypes + [.externalPurchaseToken]).map { Self.option($0.rawValue) }.joined())</select>
            <span class="inline" data-new="transaction"><label for="new-transaction">Transaction</label>
            <input id="new-transaction" list="known-transactions" inputmode="numeric" pattern="[0-9]{1,19}" maxlength="19" \
            autocomplete="off" title="The number of a transaction of an auto-renewable subscription" required>
            <datalist id="known-transactions"></datalist></span>
            <span class="inline" data-new="subtype" hidden><label for="new-subtype">Subtype</label>
            <select id="new-subtype" disabled>\
            \(SimulatedAppStore.tokenSubtypes.map { Self.option($0.rawValue) }.joined())</select></span>
            <button type="submit">Create</button>
            <p id="new-about" class="soft">No action on this page sends notifications of these types.</p>
            </form>
            <div id="notifications"></div>
            """)
    }

    /// The uploaded retention messages and images with their reviews, and what customers saw before they cancelled.
    var retentionView: HTML {
        Self.view(
            "retention", titled: "Retention messages",
            """
            <p id="retention-note" class="soft"></p>
            <h3 id="messages-title">Messages</h3>
            <ul id="uploaded-messages" class="list" aria-labelledby="messages-title"></ul>
            <h3 id="images-title">Images</h3>
            <ul id="uploaded-images" class="list" aria-labelledby="images-title"></ul>
            <h3>Screens before cancelling</h3>
            <div id="screens"></div>
            """)
    }

    /// The form that runs a scenario, and its results.
    var scenariosView: HTML {
        Self.view(
            "scenarios", titled: "Scenarios",
            """
            <p class="soft">A scenario runs in a store of its own. The accounts of this store stay as they are. If the file \
            names a catalogue by its path, the catalogue of this store is used.</p>
            <form id="run-scenario" class="inline" aria-label="Run a scenario">
            <label for="scenario-file">Scenario file</label>
            <input id="scenario-file" type="file" accept=".json,application/json" required>
            <button type="submit" class="main">Run</button>
            </form>
            <div id="scenario-report" tabindex="-1"></div>
            """)
    }

    /// The injected errors and latencies, and a form for each other setting.
    var settingsView: HTML {
        let settings = StoreSetting.all.enumerated().map { (number: $0, setting: $1) }
        let faults = settings.filter { $0.setting.isFault }
        return Self.view(
            "settings", titled: "Settings of the store",
            """
            <h3>Injected errors and latencies</h3>
            <p class="soft">They test how an app and its server handle them. They apply to all accounts.</p>
            <ul id="faults" class="list"></ul>
            <form id="add-fault" class="inline" aria-label="Inject an error or a latency">
            <label for="fault-name">Setting</label>
            <select id="fault-name">\(faults.map { Self.option(of: $0.setting) }.joined())</select>
            \(faults.map { Self.value(of: $0.setting, number: $0.number) }.joined())
            <button type="submit">Inject</button>
            </form>
            <h3>Other settings</h3>
            <p class="soft">They apply to all accounts that have no value of their own.</p>
            <div id="settings">\(settings.filter { !$0.setting.isFault }
                .map { Self.form(of: $0.setting, number: $0.number) }.joined())</div>
            """)
    }

    /// A view of one card. The navigation shows it by its name.
    private static func view(_ name: String, titled title: String, _ content: HTML) -> HTML {
        """
        <div class="view" data-panel="\(name)" hidden>
        <section class="card pane" aria-labelledby="\(name)-title">
        <h2 id="\(name)-title">\(title)</h2>
        \(content)
        </section>
        </div>
        """
    }

    private static func option(of fault: StoreSetting) -> HTML {
        "<option value=\"\(fault.name)\">\(fault.name): \(fault.summary)</option>"
    }

    private static func value(of fault: StoreSetting, number: Int) -> HTML {
        """
        <span class="inline" data-fault="\(fault.name)" hidden><label for="setting-\(number)">Value</label>
        \(control(of: fault, number: number))</span>
        """
    }

    private static func form(of setting: StoreSetting, number: Int) -> HTML {
        """
        <form class="setting" data-setting="\(setting.name)">
        <div><label for="setting-\(number)"><code>\(setting.name)</code></label>
        <p class="soft" id="about-\(number)">\(setting.summary)</p></div>
        \(control(of: setting, number: number))
        <button type="submit" aria-label="Change \(setting.name)" disabled>Change</button>
        </form>
        """
    }

    private static func control(of setting: StoreSetting, number: Int) -> HTML {
        let about: HTML = setting.isFault ? "" : " aria-describedby=\"about-\(number)\""
        let choices: [String]
        switch setting.kind {
        case .flag: choices = ["false", "true"]
        case .choice(let texts): choices = setting.isFault ? texts.filter { $0 != "off" } : texts
        case .storefront, .seconds, .url, .secret, .serverError, .quota:
            return """
                <input id="setting-\(number)"\(about) title="\(setting.rule)" \
                autocomplete="off" spellcheck="false" required>
                """
        }
        return """
            <select id="setting-\(number)"\(about)>\
            \(choices.map(Self.option).joined())</select>
            """
    }

    private static func option(_ text: String) -> HTML { "<option>\(text)</option>" }
}

extension StoreSetting {
    /// Whether the setting injects an error or a latency.
    fileprivate var isFault: Bool { name.hasPrefix("errors.") || name.hasPrefix("latency.") }
}
