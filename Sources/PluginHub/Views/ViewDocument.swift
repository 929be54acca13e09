import Primitives

/// A screen as a value: sections of rows. Drawn as JSON or text here, as a page or a native view elsewhere.
///
///     ViewDocument(title: "Mock", sections: [
///         .init(title: "Recording", rows: [
///             .toggle(id: "recording", label: "Record", isOn: true, action: .init("mock.configure")),
///             .text("Recorded", "12 answers"),
///         ], actions: [.init("mock.clear", label: "Clear")])
///     ])
///
/// What the user does comes back as an `Action`: through the hub as the command the action's id names, with its values as
/// the payload, or to whoever gave the document.
public struct ViewDocument: Sendable, Hashable, Codable {
    public var title: String
    public var sections: [Section]
    /// The view a plugin drew itself, where there are such; see `SwiftUIPlugin` and `UIKitPlugin`.
    var native = NativeView()

    private enum CodingKeys: String, CodingKey { case title, sections }

    public init(title: String, sections: [Section] = []) {
        self.title = title
        self.sections = sections
    }

    /// Rows that belong together, and buttons under them.
    public struct Section: Sendable, Hashable, Codable {
        public var title: String?
        public var rows: [Row]
        public var actions: [Action]

        public init(title: String? = nil, rows: [Row] = [], actions: [Action] = []) {
            self.title = title
            self.rows = rows
            self.actions = actions
        }

        public init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            title = try container.decodeIfPresent(String.self, forKey: .title)
            rows = try container.decodeIfPresent([Row].self, forKey: .rows) ?? []
            actions = try container.decodeIfPresent([Action].self, forKey: .actions) ?? []
        }
    }

    /// Something the user can do: an id, by convention a command's name, and what goes with it.
    public struct Action: Sendable, Hashable, Codable {
        public var id: String
        /// On the button; the id if there is none.
        public var label: String?
        public var values: JSONObject

        public init(_ id: String, label: String? = nil, values: JSONObject = [:]) {
            self.id = id
            self.label = label
            self.values = values
        }

        public init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            id = try container.decode(String.self, forKey: .id)
            label = try container.decodeIfPresent(String.self, forKey: .label)
            values = try container.decodeIfPresent(JSONObject.self, forKey: .values) ?? [:]
        }

        /// The command the action names. Throws `PluginError` code `invalidName` if its id can be no command's name.
        public func command(id messageID: MessageID? = nil) throws -> Message { try Message(id, id: messageID) }
    }
}

extension ViewDocument {
    /// The row called `id`.
    public func row(_ id: String) -> Row? {
        for section in sections {
            if let row = section.rows.first(where: { $0.id == id }) { return row }
        }
        return nil
    }

    /// What it means that the user set the row called `id` to `value`: the row's action, `value` added to its values
    /// under the row's id.
    ///
    /// Throws `PluginError`: `unsupportedMessage` for a row that does not exist or has no action, `invalidField` for a
    /// value the row cannot have (a toggle takes true or false, a field text, a choice the value of one of its options).
    public func action(setting id: String, to value: JSONValue) throws -> Action {
        guard let row = row(id), var action = row.action else {
            throw PluginError(.unsupportedMessage, "The screen \"\(title)\" has no row \"\(id)\" that can be changed.")
        }
        guard row.accepts(value) else {
            throw PluginError(.invalidField, "The row \"\(id)\" of the screen \"\(title)\" must be \(row.expectation).")
        }
        action.values[id] = value
        return action
    }
}

extension MessageSending {
    /// Sends what the user did: the command the action's id names, with its values as the payload. Throws as
    /// `send(command:payload:sender:)` does, and `invalidName` for an id that can be no command's name.
    public func perform(
        _ action: ViewDocument.Action, id: MessageID? = nil, as sender: any PluginProtocol
    ) throws {
        let payload = action.values.isEmpty ? nil : action.values
        try send(command: action.command(id: id), payload: payload, sender: sender)
    }
}
