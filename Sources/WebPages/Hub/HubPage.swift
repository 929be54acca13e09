import PluginHub

/// An interactive page about a hub, with a picture and the messages of each plugin.
///
///     try Data(HubPage(hub.graph).page.text.utf8).write(to: file)
///
/// The page makes no network requests and works as a local file. Without scripts it lists all plugins one below
/// another. With scripts, a click or Enter on a plugin shows that plugin.
public struct HubPage: Sendable {
    /// The graph of the hub.
    public let graph: HubGraph
    /// The title of the page.
    public let title: String

    /// Creates a page.
    ///
    /// - Parameters:
    ///   - graph: The graph of the hub.
    ///   - title: The title of the page.
    public init(_ graph: HubGraph, title: String = "Plugin hub") {
        self.graph = graph
        self.title = title
    }

    /// The page.
    public var page: Page { Page(title: title, body: body, style: Self.style, script: Self.script) }

    private var body: HTML {
        let layout = HubLayout(graph)
        let errors = graph.findings.filter { $0.severity == .error }.count
        let warnings = graph.findings.count - errors
        let counts = [
            Self.count(graph.plugins.count, "plugin"), Self.count(graph.channels.count, "message"),
            errors > 0 ? Self.count(errors, "error") : nil, warnings > 0 ? Self.count(warnings, "warning") : nil,
        ].compactMap { $0 }
        return """
            <div class="hub">
            <header>
            <div><h1>\(title)</h1><p class="soft">\(counts.joined(separator: ", "))</p></div>
            <form role="search" class="search"><label class="hidden-label" for="search">Search plugins and messages</label>
            <input id="search" type="search" placeholder="Search plugins and messages" autocomplete="off" spellcheck="false">
            <output class="hidden-label" for="search" aria-live="polite"></output></form>
            </header>
            <main>
            <section class="card picture\(" roomy", when: layout.width > 1500)" aria-label="Picture of the hub">
            <div class="canvas" tabindex="0" role="group" aria-label="Plugins and their messages">\(HubPicture(layout).svg)</div>
            \(Self.legend)
            </section>
            <aside aria-live="polite">\(overview)\(graph.plugins.map(details).joined())</aside>
            </main>
            </div>
            """
    }

    static func count(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }

    private static var legend: HTML {
        let entries = MessageKind.allCases.map { kind -> HTML in
            """
            <li class="\(kind.className)"><svg width="38" height="12" aria-hidden="true">\(HubPicture.sample(kind))</svg>\(kind.title)</li>
            """
        }
        return """
            <ul class="legend" aria-label="Legend">\(entries.joined())
            <li><span class="open-end" aria-hidden="true"></span>no plugin at the other end</li></ul>
            """
    }

    private var overview: HTML {
        let plugins = graph.plugins.map { plugin -> HTML in
            let mine = exchanges(of: plugin.id)
            let words = ([plugin.label] + mine.flatMap { $0.channels.map(\.message) }).joined(separator: "\n")
            let counts = mine.map { "\($0.verb) \($0.channels.count)" }.joined(separator: ", ")
            return """
                <li data-plugin="\(plugin.id)" data-words="\(words.lowercased())"><a href="#plugin-\(plugin.id)">\(plugin.label)</a>\
                \(Self.mark(worst(of: plugin)))<span class="soft">\(counts.isEmpty ? "no messages" : counts)</span></li>
                """
        }
        return """
            <section class="card" id="overview">
            <h2>Plugins</h2>
            <p class="soft hint">Choose a plugin to see its messages.</p>
            <ul class="plugins">\(plugins.joined())</ul>
            <p class="soft none" hidden>Nothing matches.</p>
            \(Self.findings(graph.findings))
            </section>
            """
    }

    private static func mark(_ severity: Hub.Finding.Severity?) -> HTML {
        switch severity {
        case .error: "<span class=\"mark error\">error</span>"
        case .warning: "<span class=\"mark warning\">warning</span>"
        case nil: ""
        }
    }

    private static func findings(_ findings: [Hub.Finding]) -> HTML {
        guard !findings.isEmpty else { return "" }
        let ordered = findings.filter { $0.severity == .error } + findings.filter { $0.severity == .warning }
        let items = ordered.map { finding -> HTML in
            "<li>\(mark(finding.severity))<span>\(finding.sentence)</span></li>"
        }
        return "<h3>Findings</h3><ul class=\"findings\">\(items.joined())</ul>"
    }

    /// The findings about the policy of a plugin. Plugins with the same name have the same findings here.
    private func findings(about plugin: HubGraph.Plugin) -> [Hub.Finding] {
        graph.findings.filter { $0.plugin == plugin.name }
    }

    private func worst(of plugin: HubGraph.Plugin) -> Hub.Finding.Severity? {
        let severities = findings(about: plugin).map(\.severity)
        return severities.contains(.error) ? .error : severities.first
    }

    /// One group of a plugin's messages, such as those that it sends.
    private struct Exchange {
        let title, verb: String
        let channels: [HubGraph.Channel]
        /// The plugins at the other end of a channel. `noPartner` is the text if there is no such plugin.
        let partners: @Sendable (HubGraph.Channel) -> [HubGraph.Plugin.ID]
        let preposition, noPartner: String
        /// Whether a missing partner is an error.
        let needsPartner: Bool
    }

    private func exchanges(of plugin: HubGraph.Plugin.ID) -> [Exchange] {
        let calls = graph.channels.filter { $0.kind != .event }
        let events = graph.channels.filter { $0.kind == .event }
        return [
            Exchange(
                title: "Sends", verb: "sends", channels: calls.filter { $0.senders.contains(plugin) },
                partners: { $0.receivers }, preposition: "to", noPartner: "no plugin receives it", needsPartner: true),
            Exchange(
                title: "Receives", verb: "receives", channels: calls.filter { $0.receivers.contains(plugin) },
                partners: { $0.senders }, preposition: "from", noPartner: "no plugin sends it", needsPartner: false),
            Exchange(
                title: "Publishes", verb: "publishes", channels: events.filter { $0.senders.contains(plugin) },
                partners: { $0.receivers }, preposition: "to", noPartner: "no plugin subscribes to it",
                needsPartner: false),
            Exchange(
                title: "Subscribes to", verb: "subscribes to",
                channels: events.filter { $0.receivers.contains(plugin) }, partners: { $0.senders },
                preposition: "from", noPartner: "no plugin publishes it", needsPartner: true),
        ].filter { !$0.channels.isEmpty }
    }

    private func details(_ plugin: HubGraph.Plugin) -> HTML {
        let groups = exchanges(of: plugin.id).map { exchange -> HTML in
            let rows = exchange.channels.map { row($0, exchange, plugin.id) }
            return "<div><h3>\(exchange.title)</h3><ul class=\"messages\">\(rows.joined())</ul></div>"
        }
        let noMessages: HTML = "<p class=\"soft\">Its policy lists no message.</p>"
        return """
            <section class="card detail" id="plugin-\(plugin.id)" data-plugin="\(plugin.id)" aria-labelledby="name-\(plugin.id)">
            <p class="back"><a href="#overview">All plugins</a></p>
            <h2 id="name-\(plugin.id)" tabindex="-1">\(plugin.label)</h2>
            \(groups.isEmpty ? noMessages : "<div class=\"groups\">\(groups.joined())</div>")
            \(Self.findings(findings(about: plugin)))
            </section>
            """
    }

    private func row(_ channel: HubGraph.Channel, _ exchange: Exchange, _ plugin: HubGraph.Plugin.ID) -> HTML {
        let partners = exchange.partners(channel).map { partner -> HTML in
            partner == plugin
                ? "itself" : "<a href=\"#plugin-\(partner)\">\(graph.plugins[partner].label)</a>"
        }
        let ends: HTML =
            partners.isEmpty
            ? "<span class=\"lonely\(" error", when: exchange.needsPartner)\">\(exchange.noPartner)</span>"
            : "<span class=\"soft\">\(exchange.preposition)</span> \(partners.joined(separator: ", "))"
        let isAtLaunch = exchange.verb == "subscribes to" && channel.receiversAtLaunch.contains(plugin)
        return """
            <li class="\(channel.kind.className)"><code>\(channel.message)</code><span class="kind">\(channel.kind.title)\
            \(", at launch", if: isAtLaunch)</span><span class="ends">\(ends)</span></li>
            """
    }
}

extension MessageKind {
    /// The CSS class of elements of this kind.
    var className: String { self == .viewQuery ? "view" : rawValue }

    var title: String { self == .viewQuery ? "view query" : rawValue }
}
