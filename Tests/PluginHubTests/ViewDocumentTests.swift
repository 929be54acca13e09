import PluginHub
import Testing

@Suite struct ViewDocumentTests {
    private let document = ViewDocument(
        title: "Mock",
        sections: [
            .init(
                title: "Recording",
                rows: [
                    .toggle(
                        id: "recording", label: "Record", isOn: true,
                        action: .init("mock.configure", values: ["screen": "mock"])),
                    .text("Recorded", "12 answers", action: .init("mock.show")),
                    .text("Only a label"),
                ],
                actions: [.init("mock.clear", label: "Clear"), .init("mock.share")]),
            .init(rows: [
                .field(id: "name", label: "Name", placeholder: "none", action: .init("mock.configure")),
                .field(id: "host", label: "Host", value: "localhost"),
                .choice(
                    id: "mode", label: "Mode", options: [.init("off"), .init("on", label: "On")], selected: "on",
                    action: .init("mock.configure")),
            ]),
        ])

    @Test func `a document is decoded as it was encoded`() throws {
        let text = try document.json()
        #expect(try ViewDocument(json: text) == document)
        #expect(try ViewDocument(json: document.json(pretty: false)) == document)
    }

    @Test func `in JSON a row has its type`() throws {
        let small = ViewDocument(
            title: "T",
            sections: [.init(rows: [.toggle(id: "a", label: "A", isOn: false, action: .init("do", values: ["n": 1]))])])
        #expect(
            try small.json(pretty: false)
                == #"{"sections":[{"actions":[],"rows":[{"action":{"id":"do","values":{"n":1}},"id":"a","isOn":false,"label":"A","type":"toggle"}]}],"title":"T"}"#
        )
    }

    @Test func `lists may be missing in the JSON, and rows of unknown type are refused`() throws {
        let read = try ViewDocument(json: #"{"title":"T","sections":[{"title":"S"},{"actions":[{"id":"a"}]}]}"#)
        #expect(read == ViewDocument(title: "T", sections: [.init(title: "S"), .init(actions: [.init("a")])]))
        for text in [#"{"title":"T","sections":[{"rows":[{"type":"dial"}]}]}"#, #"{"sections":[]}"#, "["] {
            #expect(throws: PluginError(.invalidDocument, "")) { _ = try ViewDocument(json: text) }
        }
    }

    @Test func `a document as text has one line per row`() {
        #expect(
            document.text() == """
                Mock
                ====

                Recording
                  [x] Record    (recording)
                  Recorded      12 answers  (mock.show)
                  Only a label
                  > Clear  (mock.clear)
                  > mock.share  (mock.share)

                  Name  [‹none›]  (name)
                  Host  [localhost]  (host)
                  Mode  off | •On  (mode)

                """)
    }

    @Test func `control characters of a document do not reach the terminal`() {
        let text = ViewDocument(
            title: "a\u{1B}[2J",
            sections: [.init(rows: [.text("b\n", "c\u{9B}1m"), .field(id: "d\u{7F}", label: "e")])]
        ).text()
        #expect(
            text.unicodeScalars.allSatisfy { $0 == "\n" || ($0.value >= 0x20 && !(0x7F...0x9F).contains($0.value)) })
        #expect(text.contains(#"a\u{1b}[2J"#))
        #expect(text.contains(#"b\u{a}"#))
    }

    @Test func `a new value of a row gives its action with the value`() throws {
        let action = try document.action(setting: "recording", to: false)
        #expect(action.values == ["screen": "mock", "recording": false])
        #expect(try action.command(id: "x") == Message("mock.configure", id: "x"))
        #expect(try document.action(setting: "name", to: "n").values == ["name": "n"])
        #expect(try document.action(setting: "mode", to: "off").values == ["mode": "off"])
    }

    @Test func `a value the row cannot have is refused, and so is a row that cannot be set`() {
        let invalid = PluginError(.invalidField, "")
        #expect(throws: invalid) { _ = try document.action(setting: "recording", to: "yes") }
        #expect(throws: invalid) { _ = try document.action(setting: "name", to: 3) }
        #expect(throws: invalid) { _ = try document.action(setting: "mode", to: "sideways") }
        let unsupported = PluginError(.unsupportedMessage, "")
        #expect(throws: unsupported) { _ = try document.action(setting: "host", to: "a") }
        #expect(throws: unsupported) { _ = try document.action(setting: "absent", to: "a") }
        let text = ViewDocument(
            title: "T", sections: [.init(rows: [.text("a", "b", id: "t", action: .init("tap"))])])
        #expect(throws: invalid) { _ = try text.action(setting: "t", to: "c") }
    }

    @Test func `an action whose id is not the name of a command throws`() {
        #expect(throws: PluginError(.invalidName, "")) { _ = try ViewDocument.Action("").command() }
    }

    @Test func `a view passes through the hub, and its action is sent back as a command`() throws {
        let hub = Hub()
        let journal = Journal<JSONObject?>()
        let document = document
        hub.register(
            Policy(
                name: "Screen", send: .init(commands: ["mock.configure"], viewControllerQueries: ["mock"])))
        hub.register(
            Policy(name: "Mock", receive: .init(commands: ["mock.configure"], viewControllerQueries: ["mock"])),
            .init(onCommand: { _, _, payload in journal.note(payload) }, onViewQuery: { _, _, _ in document }))
        #expect(hub.start().findings.isEmpty)
        let screen = try hub.scripted("Screen")
        let action = try screen.viewQuery("mock").action(setting: "recording", to: false)
        try screen.send(command: action.command(), action.values)
        #expect(journal.entries == [["screen": "mock", "recording": false]])
    }
}
