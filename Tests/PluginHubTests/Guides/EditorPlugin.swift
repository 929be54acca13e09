import PluginHub
import Primitives

final class EditorPlugin: PluginProtocol {
    static let policy = Policy(
        name: "Editor",
        send: .init(commands: ["notes.save"], queries: ["notes.count"], viewControllerQueries: ["notes.screen"]),
        subscribe: ["notes.saved"])
    var policy: Policy { Self.policy }
    private let hub: any MessageSending
    private let screen: Screen

    init(messageSender: any MessageSending, configurationFiles: [String: String]) {
        hub = messageSender
        screen = Screen()
    }

    init(messageSender: any MessageSending, screen: Screen) {
        hub = messageSender
        self.screen = screen
    }

    func save(_ text: String) async throws -> Int {
        let id = MessageID.unique()
        let answers = try hub.events(NoteSaved.self, as: self).filter(correlationId: id).values()
        try hub.send(SaveNote(text: text), id: id, as: self)
        for await answer in answers { return try answer.value().number }
        throw CancellationError()  // a plugin has left, or the task was cancelled
    }

    func saveAndForget(_ text: String) throws {
        try hub.send(SaveNote(text: text), as: self)
    }

    func showWhatIsSaved() throws {
        let saved = try hub.events(NoteSaved.self, as: self).sink { [screen] output in
            switch output.result {
            case .success(let note): screen.show("Saved note \(note.number).")
            case .failure(let error): screen.show("Not saved: \(error)")
            }
        }
        hub.context?.keep(saved)
    }

    func show() throws {
        let count = try hub.send(CountNotes(), as: self).count
        let document = try hub.send(NotesScreen(), as: self)
        screen.show("\(count)\n\(document.text())")
    }

    func saveUntyped(_ text: String) async throws -> JSONObject? {
        let save = try Message("notes.save", id: .unique())
        let answers = try hub.publisher(forEvent: "notes.saved", payload: nil, subscriber: self)
            .filter { $0.correlationId == save.id }.values()
        try hub.send(command: save, payload: ["text": .string(text)], sender: self)
        for await answer in answers { return try answer.payload() }
        return nil
    }
}

/// The text on the screen.
final class Screen: Sendable {
    private let lines = Locked<[String]>([])

    func show(_ line: String) { lines.withLock { $0.append(line) } }
    var shown: [String] { lines.withLock { $0 } }
}
