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
        <section class="card pane" aria-labelledby="products-title">
        <h3 id="products-title">Products</h3>
        <ul id="products" class="products"></ul>
        <form id="redeem" class="inline" aria-label="Redeem an offer code">
        <label for="code">Offer code</label>
        <input id="code" maxlength="255" autocomplete="off" spellcheck="false" required>
        <label for="code-product">Product</label>
        <select id="code-product"></select>
        <button type="submit">Redeem</button>
        </form>
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
        """
        <div class="view" data-panel="families" hidden>
        <section class="card pane" aria-labelledby="families-title">
        <h2 id="families-title">Families</h2>
        <p class="soft">The members share products through Family Sharing. Removing the organizer ends the family.</p>
        <ul id="families" class="list"></ul>
        <form id="new-family" class="inline" aria-label="Create a family">
        <label for="family-name">Name of a new family</label>
        <input id="family-name" maxlength="255" autocomplete="off" spellcheck="false" required>
        <label for="family-organizer">Organizer</label>
        <select id="family-organizer" required></select>
        <button type="submit" class="main">Create family</button>
        </form>
        </section>
        </div>
        """
    }

    /// The notifications to the app's server.
    var notificationsView: HTML {
        """
        <div class="view" data-panel="notifications" hidden>
        <section class="card pane" aria-labelledby="notifications-title">
        <h2 id="notifications-title">Notifications to the app's server</h2>
        <p id="notifications-note" class="soft"></p>
        <form id="notification-filter" class="inline" role="search" aria-label="Filter the notifications">
        <label for="notification-account">Account</label>
        <select id="notification-account"></select>
        <label for="notification-type">Type</label>
        <select id="notification-type"></select>
        <button type="button" id="deliver">Deliver now</button>
        </form>
        <div id="notifications"></div>
        </section>
        </div>
        """
    }

    /// The form that runs a scenario, and its results.
    var scenariosView: HTML {
        """
        <div class="view" data-panel="scenarios" hidden>
        <section class="card pane" aria-labelledby="scenarios-title">
        <h2 id="scenarios-title">Scenarios</h2>
        <p class="soft">A scenario runs in a store of its own. The accounts of this store stay as they are. If the file \
        names a catalogue by its path, the catalogue of this store is used.</p>
        <form id="run-scenario" class="inline" aria-label="Run a scenario">
        <label for="scenario-file">Scenario file</label>
        <input id="scenario-file" type="file" accept=".json,application/json" required>
        <button type="submit" class="main">Run</button>
        </form>
        <div id="scenario-report" tabindex="-1"></div>
        </section>
        </div>
        """
    }

    /// The settings, each with a form.
    var settingsView: HTML {
        """
        <div class="view" data-panel="settings" hidden>
        <section class="card pane" aria-labelledby="settings-title">
        <h2 id="settings-title">Settings of the store</h2>
        <p class="soft">They apply to all accounts. Use errors and latencies to test how an app handles them.</p>
        <div id="settings">\(StoreSetting.all.enumerated().map { Self.form(of: $1, number: $0) }.joined())</div>
        </section>
        </div>
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
        let choices: [String]
        switch setting.kind {
        case .flag: choices = ["false", "true"]
        case .choice(let texts): choices = texts
        case .storefront, .seconds, .url, .secret, .serverError:
            return """
                <input id="setting-\(number)" aria-describedby="about-\(number)" title="\(setting.rule)" \
                autocomplete="off" spellcheck="false" required>
                """
        }
        return """
            <select id="setting-\(number)" aria-describedby="about-\(number)">\
            \(choices.map { text -> HTML in "<option>\(text)</option>" }.joined())</select>
            """
    }
}
