import HTTPCore
import PluginHub
import Primitives

/// A view document as a web page. Each editable row and each action is a form, so the page works without scripts.
///
///     case "GET":  return .ready(HTTPResponse(page: ViewDocumentForm(document, postingTo: "/mock").page))
///     case "POST": try perform(ViewDocumentForm(document, postingTo: "/mock").action(posted: fields))
///
/// A changed row is posted as `row` and `value`, and a button as `action` and `values`.
public struct ViewDocumentForm: Sendable {
    /// The document.
    public let document: ViewDocument
    /// The path or URL to which the forms are posted.
    public let target: String
    /// A link above the title. Its target must be a path or URL that the program chose, because input from elsewhere
    /// could contain a script.
    public let back: (title: String, target: String)?

    /// Creates the page of a document.
    ///
    /// - Parameters:
    ///   - document: The document.
    ///   - target: The path or URL to which the forms are posted.
    ///   - back: A link above the title.
    public init(_ document: ViewDocument, postingTo target: String, back: (title: String, target: String)? = nil) {
        self.document = document
        self.target = target
        self.back = back
    }

    /// The page.
    public var page: Page { Page(title: document.title, body: body, style: Self.style) }

    /// Returns the action that a posted form requests. The form must contain an editable row of the page, or a button
    /// of the page with its values.
    ///
    /// - Parameter fields: The fields of the form.
    /// - Throws: `PluginError` with the code `missingField` if a field is missing, `unsupportedMessage` if the document
    ///   has no such row or action, for example after a change, and `invalidField` if the row does not accept the
    ///   value.
    public func action(posted fields: HTTPQuery) throws -> ViewDocument.Action {
        if let id = fields["row"] {
            guard let value = fields["value"] else { throw Self.missing("value") }
            return try document.action(setting: id, to: Self.value(value, of: document.row(id)))
        }
        guard let id = fields["action"] else { throw Self.missing("row or action") }
        let action = buttons.first { $0.id == id && Self.text(of: $0.values) == fields["values"] }
        guard let action else {
            throw PluginError(
                .unsupportedMessage,
                "The screen \"\(document.title)\" no longer has the action \"\(id)\" in this form. Load the page again."
            )
        }
        return action
    }

    private static func value(_ text: String, of row: ViewDocument.Row?) -> JSONValue {
        guard case .toggle = row, text == "true" || text == "false" else { return .string(text) }
        return .bool(text == "true")
    }

    private static func missing(_ field: String) -> PluginError {
        PluginError(.missingField, "The form has no \(field). Post a form of the page.")
    }

    private static func text(of values: JSONObject) -> String { JSONValue.object(values).text(sortedKeys: true) }

    /// The actions that are drawn as buttons.
    private var buttons: [ViewDocument.Action] {
        document.sections.flatMap { section in
            section.rows.compactMap { row -> ViewDocument.Action? in
                if case .text(let text) = row.content { text.action } else { nil }
            } + section.actions
        }
    }
}

extension ViewDocumentForm {
    /// The content of the page.
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

    /// Returns a form for the row, or only its content if the row cannot be changed.
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
    /// Whether the row is drawn as an element that a label can refer to.
    fileprivate var hasInput: Bool {
        switch content {
        case .text, .toggle: false
        case .field: true
        case .choice(let choice): choice.hasManyOptions
        }
    }
}

extension ViewDocument.Choice {
    /// Whether the options do not fit side by side on a phone.
    fileprivate var hasManyOptions: Bool {
        options.count > 4 || options.reduce(0) { $0 + $1.label.count } > 32
    }
}
