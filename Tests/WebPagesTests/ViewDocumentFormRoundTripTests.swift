import BaseTestSupport
import Foundation
import HTTPCore
import PluginHub
import Primitives
import Testing
import WebPages

/// Each form on the page of a random document is an action of the document.
@Suite struct ViewDocumentFormRoundTripTests {
    /// A form of a page, with the fields that a browser sends.
    private struct PostedForm {
        let target: String
        var fields: [(String, String)] = []
        /// The field that a person fills in.
        var input: (name: String, value: String)?
        var options: [String] = []
        var buttons: [(name: String?, value: String)] = []
    }

    private static func attributes(_ tag: Substring) -> [String: String] {
        var found: [String: String] = [:]
        for match in tag.matches(of: /([a-z-]+)="([^"]*)"/) { found[String(match.1)] = read(match.2) }
        return found
    }

    private static func read(_ text: Substring) -> String {
        [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")].reduce(String(text)) {
            $0.replacing($1.0, with: $1.1)
        }
    }

    private static func forms(of page: String) -> [PostedForm] {
        page.components(separatedBy: "<form ").dropFirst().map { piece in
            let form = piece.components(separatedBy: "</form>")[0]
            var posted = PostedForm(target: attributes(form.prefix { $0 != ">" })["action"] ?? "")
            for match in form.matches(of: /<(input|button|option|select)( [^>]*)?>/) {
                let attributes = attributes(match.2 ?? "")
                switch match.1 {
                case "input" where attributes["type"] == "hidden":
                    posted.fields.append((attributes["name"] ?? "", attributes["value"] ?? ""))
                case "input": posted.input = (attributes["name"] ?? "", attributes["value"] ?? "")
                case "option" where match.2?.contains(" disabled") != true:
                    posted.options.append(attributes["value"] ?? "")
                case "button": posted.buttons.append((attributes["name"], attributes["value"] ?? ""))
                default: break
                }
            }
            return posted
        }
    }

    private static let texts = ["a", "b & c", "\"q\"", "<i>", "it's", "é日", "=+%&#", "x y", "1", "true", "{}"]

    private static func document(_ random: inout SeededNumbers) -> ViewDocument {
        func text() -> String { texts.randomElement(using: &random) ?? "" }
        func action() -> ViewDocument.Action? {
            Bool.random(using: &random)
                ? .init(
                    text(), label: text(),
                    values: ["n": .number(Int.random(in: 0...9, using: &random)), "t": .string(text())]) : nil
        }
        var number = 0
        func row() -> ViewDocument.Row {
            number += 1
            let id = "row \(number) \(text())"
            switch Int.random(in: 0...3, using: &random) {
            case 0: return .text(text(), text(), action: action())
            case 1: return .toggle(id: id, label: text(), isOn: Bool.random(using: &random), action: action())
            case 2: return .field(id: id, label: text(), value: text(), placeholder: text(), action: action())
            default:
                let options = Array(texts.shuffled(using: &random).prefix(Int.random(in: 1...7, using: &random)))
                return .choice(
                    id: id, label: text(), options: options.map { .init($0, label: $0 + "!") },
                    selected: Bool.random(using: &random) ? options[0] : nil, action: action())
            }
        }
        return ViewDocument(
            title: text(),
            sections: (0..<Int.random(in: 0...3, using: &random)).map { _ in
                .init(
                    title: Bool.random(using: &random) ? text() : nil,
                    rows: (0..<Int.random(in: 0...5, using: &random)).map { _ in row() },
                    actions: [action(), action()].compactMap { $0 })
            })
    }

    /// The values that a row may be set to.
    private static func settable(_ document: ViewDocument) -> [String: [JSONValue]] {
        var found: [String: [JSONValue]] = [:]
        for row in document.sections.flatMap(\.rows) {
            switch row.content {
            case .text: break
            case .toggle(let toggle): if toggle.action != nil { found[toggle.id] = [.bool(!toggle.isOn)] }
            case .field(let field): if field.action != nil { found[field.id] = [.string("typed <\"&'>")] }
            case .choice(let choice):
                if choice.action != nil { found[choice.id] = choice.options.map { .string($0.value) } }
            }
        }
        return found
    }

    @Test(arguments: UInt64(1)...200) func `each form performs the action of its row or button, and none is missing`(
        seed: UInt64
    ) throws {
        var random = SeededNumbers(state: seed)
        let document = Self.document(&random)
        let form = ViewDocumentForm(document, postingTo: "/a?b=\"c\"&d", back: (title: "< back", target: "/?x&y"))
        let page = form.page.text
        #expect(page.contains("<a href=\"/?x&amp;y\">&lt; back</a>"))
        var (set, pressed): ([String: [JSONValue]], [String]) = ([:], [])
        for posted in Self.forms(of: page) {
            #expect(posted.target == "/a?b=\"c\"&d")
            var choices = posted.buttons.filter { $0.name == "value" }.map(\.value) + posted.options
            if posted.input != nil { choices = ["typed <\"&'>"] }
            for value in choices.map({ [("value", $0)] }) + (choices.isEmpty ? [[]] : []) {
                let sent = HTTPQuery(posted.fields + value).encoded
                let action = try form.action(posted: try #require(HTTPQuery(parsing: sent)))
                if let id = posted.fields.first(where: { $0.0 == "row" })?.1 {
                    set[id, default: []].append(try #require(action.values[id]))
                } else {
                    pressed.append("\(action.id) \(JSONValue.object(action.values).text(sortedKeys: true))")
                }
            }
        }
        #expect(set == Self.settable(document))
        let buttons = document.sections.flatMap { section in
            section.rows.compactMap { row -> ViewDocument.Action? in
                if case .text(let text) = row.content { text.action } else { nil }
            } + section.actions
        }
        #expect(pressed == buttons.map { "\($0.id) \(JSONValue.object($0.values).text(sortedKeys: true))" })
    }

    @Test func `a row shows its content`() {
        let document = ViewDocument(
            title: "T",
            sections: [
                .init(rows: [
                    .toggle(id: "on", label: "On", isOn: true, action: .init("a")),
                    .toggle(id: "off", label: "Off", isOn: false),
                    .choice(id: "few", label: "Few", options: [.init("x"), .init("y")], selected: "y"),
                    .choice(
                        id: "many", label: "Many", options: ["1", "2", "3", "4", "5"].map { .init($0) },
                        selected: "3", action: .init("a")),
                    .choice(
                        id: "none", label: "None", options: ["1", "2", "3", "4", "5"].map { .init($0) },
                        selected: "9", action: .init("a")),
                ])
            ])
        let page = ViewDocumentForm(document, postingTo: "/").page.text
        let rows = page.components(separatedBy: "<li>").dropFirst().map { $0.components(separatedBy: "</li>")[0] }
        #expect(rows.count == 5)
        #expect(rows[0].contains("value=\"false\" aria-checked=\"true\"") && !rows[0].contains("disabled"))
        #expect(rows[1].contains("value=\"true\" aria-checked=\"false\"") && rows[1].contains(" disabled"))
        #expect(!rows[1].contains("<form"), "a row that cannot be set has no form")
        #expect(rows[2].contains("value=\"y\" aria-pressed=\"true\" disabled"))
        #expect(rows[2].contains("value=\"x\" aria-pressed=\"false\" disabled"))
        #expect(rows[3].contains("<option value=\"3\" selected>3</option>"))
        #expect(rows[3].components(separatedBy: " selected").count == 2)
        #expect(rows[4].contains("<option value=\"\" selected disabled>"), "the value is not one of the options")
        #expect(rows[4].components(separatedBy: " selected").count == 2)
    }

    @Test(arguments: [(4, 8, false), (5, 1, true), (2, 17, true), (2, 16, false)])
    func `options that do not fit side by side are a list`(count: Int, length: Int, isList: Bool) {
        let options = (0..<count).map { number in
            ViewDocument.Option("\(number)", label: String(repeating: "x", count: length))
        }
        let document = ViewDocument(
            title: "T", sections: [.init(rows: [.choice(id: "c", label: "C", options: options, action: .init("a"))])])
        #expect(ViewDocumentForm(document, postingTo: "/").page.text.contains("<select") == isList)
    }
}
