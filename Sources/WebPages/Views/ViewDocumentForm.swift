import HTTPCore
import PluginHub
import Primitives

/// A view document as a web page: every row that can be changed and every action is a form, so it works without scripts.
///
///     case "GET":  return .ready(HTTPResponse(page: ViewDocumentForm(document, postingTo: "/mock").page))
///     case "POST": try perform(ViewDocumentForm(document, postingTo: "/mock").action(posted: fields))
///
/// A row that is set comes back as `row` and `value`, a button as `action` and `values`.
public struct ViewDocumentForm: Sendable {
    public let document: ViewDocument
    /// The path or URL the forms are posted to.
    public let target: String
    /// A way back from the page, above its title. Its target is a path or URL that the program chose; one from elsewhere
    /// could be a script.
    public let back: (title: String, target: String)?

    /// Creates a form whose parts are posted to `target`.
    public init(_ document: ViewDocument, postingTo target: String, back: (title: String, target: String)? = nil) {
        self.document = document
        self.target = target
        self.back = back
    }

    public var page: Page { Page(title: document.title, body: body, style: Self.style) }

    /// What the person did, from the fields of a posted form.
    ///
    /// Throws `PluginError`: `missingField` for a form that is none of these, `unsupportedMessage` for a row or an action
    /// that the document does not have, as when it has changed since the page was made, `invalidField` for a value the row
    /// cannot have.
    public func action(posted fields: HTTPQuery) throws -> ViewDocument.Action {
        if let id = fields["row"] {
            guard let value = fields["value"] else { throw Self.missing("value") }
            return try document.action(setting: id, to: Self.value(value, of: document.row(id)))
        }
        guard let id = fields["action"] else { throw Self.missing("row or action") }
        // Only what stands on the page can be chosen there, values included.
        let action = buttons.first { $0.id == id && Self.text(of: $0.values) == fields["values"] }
        guard let action else {
            throw PluginError(
                .unsupportedMessage,
                "The screen \"\(document.title)\" has no action \"\(id)\" like this any more: load it again.")
        }
        return action
    }

    private static func value(_ text: String, of row: ViewDocument.Row?) -> JSONValue {
        guard case .toggle = row, text == "true" || text == "false" else { return .string(text) }
        return .bool(text == "true")
    }

    private static func missing(_ field: String) -> PluginError {
        PluginError(.missingField, "This form has no \(field): post one of the page's own.")
    }

    private static func text(of values: JSONObject) -> String { JSONValue.object(values).text(sortedKeys: true) }

    /// Every action that is a button of its own.
    private var buttons: [ViewDocument.Action] {
        document.sections.flatMap { section in
            section.rows.compactMap { row -> ViewDocument.Action? in
                if case .text(let text) = row.content { text.action } else { nil }
            } + section.actions
        }
    }
}

// MARK: - Drawing

extension ViewDocumentForm {
    /// Everything between the page's edges.
    var body: HTML {
        """
        <main class="page">
        \(back.map { link -> HTML in "<p><a href=\"\(link.target)\">\(link.title)</a></p>" })
        <h1>\(document.title)</h1>
        \(document.sections.enumerated().map { section($1, number: $0) }.joined())
        </main>
        """
    }

    private func section(_ section: ViewDocument.Section, number: Int) -> HTML {
        let title = section.title.map { title -> HTML in "<h2 id=\"section-\(number)\">\(title)</h2>" }
        let rows = section.rows.enumerated().map { row($1, name: "row-\(number)-\($0)") }
        let actions = section.actions.map { button($0) }
        let list: HTML = rows.isEmpty ? "" : "<ul class=\"rows\">\(rows.joined())</ul>"
        let footer: HTML = actions.isEmpty ? "" : "<div class=\"actions\">\(actions.joined())</div>"
        let labelled: HTML = title == nil ? "" : " aria-labelledby=\"section-\(number)\""
        return "<section class=\"card group\"\(labelled)>\(title)\(list)\(footer)</section>\n"
    }

    private func row(_ row: ViewDocument.Row, name: String) -> HTML {
        let control: HTML
        switch row.content {
        case .text(let text):
            let value = text.value.map { value -> HTML in "<span class=\"value\">\(value)</span>" }
            control = "\(value)\(text.action.map { button($0) })"
        case .toggle(let toggle): control = self.toggle(toggle, name: name)
        case .field(let field): control = self.field(field, name: name)
        case .choice(let choice): control = self.choice(choice, name: name)
        }
        let label: HTML =
            row.hasInput
            ? "<label for=\"\(name)\" id=\"\(name)-label\">\(row.label)</label>"
            : "<span id=\"\(name)-label\">\(row.label)</span>"
        return "<li>\(label)<div class=\"control\">\(control)</div></li>\n"
    }

    /// A form with what says which row it sets, or nothing but its content where the row cannot be set.
    private func form(setting id: String, _ action: ViewDocument.Action?, _ content: HTML) -> HTML {
        guard action != nil else { return content }
        return """
            <form method="post" action="\(target)"><input type="hidden" name="row" value="\(id)">\(content)</form>
            """
    }

    private func toggle(_ toggle: ViewDocument.Toggle, name: String) -> HTML {
        form(
            setting: toggle.id, toggle.action,
            """
            <button class="switch" role="switch" name="value" value="\(toggle.isOn ? "false" : "true")" \
            aria-checked="\(toggle.isOn ? "true" : "false")" aria-labelledby="\(name)-label"\(" disabled", if: toggle.action == nil)></button>
            """)
    }

    private func field(_ field: ViewDocument.Field, name: String) -> HTML {
        form(
            setting: field.id, field.action,
            """
            <input id="\(name)" name="value" value="\(field.value)" placeholder="\(field.placeholder)" autocomplete="off"\
            \(" disabled", if: field.action == nil)>\(field.action.map { submit($0, name: name) })
            """)
    }

    private func choice(_ choice: ViewDocument.Choice, name: String) -> HTML {
        let isLocked = choice.action == nil
        guard choice.hasManyOptions else {
            let buttons = choice.options.map { option -> HTML in
                """
                <button name="value" value="\(option.value)" aria-pressed="\(option.value == choice.selected ? "true" : "false")"\
                \(" disabled", if: isLocked)>\(option.label)</button>
                """
            }
            let group: HTML = """
                <div class="segments" role="group" aria-labelledby="\(name)-label">\(buttons.joined())</div>
                """
            return form(setting: choice.id, choice.action, group)
        }
        let isNoneChosen = !choice.options.contains { $0.value == choice.selected }
        let nothing: HTML = isNoneChosen ? "<option value=\"\" selected disabled>–</option>" : ""
        let options = choice.options.map { option -> HTML in
            "<option value=\"\(option.value)\"\(" selected", if: option.value == choice.selected)>\(option.label)</option>"
        }
        return form(
            setting: choice.id, choice.action,
            """
            <select id="\(name)" name="value"\(" disabled", if: isLocked)>\(nothing)\(options.joined())</select>\
            \(choice.action.map { submit($0, name: name) })
            """)
    }

    private func submit(_ action: ViewDocument.Action, name: String) -> HTML {
        "<button aria-describedby=\"\(name)-label\">\(action.label ?? "Set")</button>"
    }

    private func button(_ action: ViewDocument.Action) -> HTML {
        """
        <form method="post" action="\(target)"><input type="hidden" name="action" value="\(action.id)">\
        <input type="hidden" name="values" value="\(Self.text(of: action.values))">\
        <button>\(action.label ?? action.id)</button></form>
        """
    }
}

extension ViewDocument.Row {
    /// Whether it is drawn as something a label can point at.
    fileprivate var hasInput: Bool {
        switch content {
        case .text, .toggle: false
        case .field: true
        case .choice(let choice): choice.hasManyOptions
        }
    }
}

extension ViewDocument.Choice {
    /// More than fit side by side on a phone.
    fileprivate var hasManyOptions: Bool {
        options.count > 4 || options.reduce(0) { $0 + $1.label.count } > 32
    }
}
