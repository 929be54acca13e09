import WebPages

extension InspectorPage {
    /// The page before its script has loaded data.
    var page: Page {
        var page = Page(
            title: configuration.title, body: body, styles: [Self.style, Self.detailStyle],
            scripts: [
                Self.basics, Self.foldScript, Self.listScript, Self.detailScript, Self.sheetScript, Self.liveScript,
            ])
        page.asksItsServer = true
        return page
    }

    private var body: HTML {
        """
        <header>
        <h1>\(configuration.title)</h1>
        <nav aria-label="Views">
        <a href="#" data-view="traffic">Requests</a><a href="#hub" data-view="hub" hidden>Hub</a>\
        <a href="#florets" data-view="florets">Florets</a>
        </nav>
        <div class="tools">
        <span id="connection" class="soft" role="status"></span>
        <button type="button" id="run" hidden></button>
        <button type="button" id="compose" hidden>New request</button>
        <a id="export" class="button" href="api/export?format=har" download>Export HAR</a>
        <button type="button" id="clear">Clear</button>
        </div>
        </header>
        <noscript><p class="notice">This page needs JavaScript.</p></noscript>
        <main id="traffic" data-panel="traffic">
        <section class="card records" aria-label="Requests">
        \(filterForm)
        <p id="empty" class="notice soft" hidden></p>
        <div id="list" role="tree" tabindex="0" aria-label="Requests, newest first"><div id="rows" role="presentation"></div></div>
        </section>
        <section class="card detail" id="detail" aria-label="Chosen request" tabindex="-1">
        <p class="notice soft">Choose a request to see its details.</p>
        </section>
        </main>
        <main class="page wide" data-panel="hub" hidden><section class="card sheet" id="hub" aria-label="Hub messages"></section></main>
        <main class="page" data-panel="florets" hidden><section class="card sheet" id="florets" aria-label="Florets"></section></main>
        \(sendDialog)
        """
    }

    private var filterForm: HTML {
        """
        <form role="search" id="filter">
        <label class="hidden-label" for="text">Search</label>
        <input id="text" name="text" type="search" placeholder="Search, as in: refused status:5xx host:*.example.com" autocomplete="off" spellcheck="false">
        <label class="hidden-label" for="method">Method</label>
        <select id="method" name="method"><option value="">Any method</option>\
        \(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"].map { name -> HTML in "<option>\(name)</option>" }.joined())</select>
        <label class="hidden-label" for="status">Outcome</label>
        <select id="status" name="status"><option value="">Any outcome</option><option value="2xx">Success</option>\
        <option value="3xx">Redirection</option><option value="4xx">Client error</option>\
        <option value="5xx">Server error</option><option value="failed">No answer</option>\
        <option value="underway">Under way</option></select>
        <span id="count" class="soft"></span>
        <output id="said" class="hidden-label" for="text method status" aria-live="polite"></output>
        </form>
        """
    }

    private var sendDialog: HTML {
        """
        <dialog id="send" aria-labelledby="send-title">
        <form method="dialog">
        <h2 id="send-title">Send a request</h2>
        <p id="send-note" class="soft" hidden></p>
        <div class="line"><div><label for="send-method">Method</label>
        <input id="send-method" autocomplete="off" spellcheck="false" required></div>
        <div class="grow"><label for="send-url">URL</label>
        <input id="send-url" type="url" autocomplete="off" spellcheck="false" required></div></div>
        <label for="send-headers">Headers, one per line</label>
        <textarea id="send-headers" rows="5" spellcheck="false"></textarea>
        <label for="send-body">Body</label>
        <textarea id="send-body" rows="9" spellcheck="false"></textarea>
        <p id="send-fault" class="fault" role="alert"></p>
        <div class="actions"><button type="button" id="send-cancel">Cancel</button>
        <button type="submit" id="send-go" class="main">Send</button></div>
        </form>
        </dialog>
        """
    }
}
