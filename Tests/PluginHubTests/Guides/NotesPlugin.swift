import Foundation
import PluginHub
import Primitives

struct SaveNote: HubCommand {
    static let message: Message = "notes.save"
    var text: String
}

struct NoteSaved: HubEvent {
    static let message: Message = "notes.saved"
    var number: Int
}

struct CountNotes: HubQuery {
    static let message: Message = "notes.count"
    struct Answer: Codable, Sendable { var count: Int }
}

struct NotesScreen: HubViewQuery {
    static let message: Message = "notes.screen"
}

final class NotesPlugin: PluginProtocol {
    let policy: Policy
    private let hub: any MessageSending
    private let folder: String
    private let saved = EventSubject()
    private let notes = Locked<[String]>([])

    init(messageSender: any MessageSending, configurationFiles: [String: String]) throws {
        hub = messageSender
        policy = try Policy(contentsOfFile: configurationFiles["policy"] ?? "notes.policy.json")
        folder = configurationFiles["notes"] ?? "."
    }

    func onReceive(command: Message, payload: JSONObject?) throws {
        switch command {
        case SaveNote.self:
            let note = try SaveNote(payload: payload)
            guard !note.text.isEmpty else {
                throw PluginError(.invalidField, "A note needs a text.", message: command.name)
            }
            hub.context?.run { [self] in await save(note, for: command.id) }
        default: throw unsupported(.command, command)
        }
    }

    func onReceive(query: Message, payload: JSONObject?) throws -> JSONObject {
        switch query {
        case CountNotes.self: return try CountNotes.answer(.init(count: notes.withLock { $0.count }))
        default: throw unsupported(.query, query)
        }
    }

    func onReceive(viewQuery: Message, payload: JSONObject?) throws -> ViewDocument {
        switch viewQuery {
        case NotesScreen.self:
            let rows = notes.withLock { $0 }.enumerated().map { ViewDocument.Row.text("\($0 + 1)", $1) }
            return ViewDocument(title: "Notes", sections: [.init(rows: rows)])
        default: throw unsupported(.viewQuery, viewQuery)
        }
    }

    func publisher(forEvent event: Message, payload: JSONObject?) throws -> EventPublisher {
        switch event {
        case NoteSaved.self: return saved.publisher
        default: throw unsupported(.event, event)
        }
    }

    private func save(_ note: SaveNote, for id: MessageID?) async {
        do {
            let file = "\(folder)/\(MessageID.unique()).txt"
            try note.text.write(toFile: file, atomically: true, encoding: .utf8)
            let number = notes.withLock { notes in
                notes.append(note.text)
                return notes.count
            }
            saved.send(NoteSaved(number: number), correlationId: id)
        } catch {
            saved.send(.failure(error, correlationId: id))
        }
    }
}
