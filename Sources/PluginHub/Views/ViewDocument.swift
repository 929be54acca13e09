import Primitives

/// A screen as a value: sections of rows. It can be rendered as JSON, as text, as a web page or as a native view.
///
///     ViewDocument(title: "Mock", sections: [
///         .init(title: "Recording", rows: [
///             .toggle(id: "recording", label: "Record", isOn: true, action: .init("mock.configure")),
///             .text("Recorded", "12 answers"),
///         ], actions: [.init("mock.clear", label: "Clear")])
///     ])
///
/// An input of the user is an `Action`. In a hub, the action is sent as a command: its id is the name of the command,
/// and its values are the payload. Without a hub, the code that shows the document receives the action.
public struct ViewDocument: Sendable, Hashable, Codable {
    /// The title of the screen.
    public var title: String
    /// The sections, from top to bottom.
    public var sections: [Section]
    /// The platform view, if a plugin has its own; see `SwiftUIPlugin` and `UIKitPlugin`.
    var native = NativeView()

    private enum CodingKeys: String, CodingKey { case title, sections }

    /// Creates a screen.
    ///
    /// - Parameters:
    ///   - title: The title of the screen.
    ///   - sections: The sections, from top to bottom.
    public init(title: String, sections: [Section] = []) {
        self.title = title
        self.sections = sections
    }

    /// A group of rows, with buttons below them.
    public struct Section: Sendable, Hashable, Codable {
        /// The title of the section.
        public var title: String?
        /// The rows, from top to bottom.
        public var rows: [Row]
        /// The buttons below the rows.
        public var actions: [Action]

        /// Creates a section.
        ///
        /// - Parameters:
        ///   - title: The title of the section.
        ///   - rows: The rows, from top to bottom.
        ///   - actions: The buttons below the rows.
        public init(title: String? = nil, rows: [Row] = [], actions: [Action] = []) {
            self.title = title
            self.rows = rows
            self.actions = actions
        }

        /// Decodes a section.
        ///
        /// - Parameter decoder: The decoder.
        /// - Throws: `DecodingError` when a member has the wrong type.
        public init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            title = try container.decodeIfPresent(String.self, forKey: .title)
            rows = try container.decodeIfPresent([Row].self, forKey: .rows) ?? []
            actions = try container.decodeIfPresent([Action].self, forKey: .actions) ?? []
        }
    }

    /// An action of the user: an id, by convention the name of a command, and values.
    public struct Action: Sendable, Hashable, Codable {
        /// The id.
        public var id: String
        /// The text of the button. Without it, the button shows the id.
        public var label: String?
        /// The values, which become the payload of the command.
        public var values: JSONObject

        /// Creates an action.
        ///
        /// - Parameters:
        ///   - id: The id.
        ///   - label: The text of the button.
        ///   - values: The values.
        public init(_ id: String, label: String? = nil, values: JSONObject = [:]) {
            self.id = id
            self.label = label
            self.values = values
        }

        /// Decodes an action.
        ///
        /// - Parameter decoder: The decoder.
        /// - Throws: `DecodingError` when the id is missing or a member has the wrong type.
        public init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            id = try container.decode(String.self, forKey: .id)
            label = try container.decodeIfPresent(String.self, forKey: .label)
            values = try container.decodeIfPresent(JSONObject.self, forKey: .values) ?? [:]
        }

        /// Returns the command whose name is the id of the action.
        ///
        /// - Parameter messageID: The id of the message.
        /// - Returns: The command.
        /// - Throws: `PluginError` with the code `invalidName` when the id is not a valid name.
        public func command(id messageID: MessageID? = nil) throws -> Message { try Message(id, id: messageID) }
    }
}

extension ViewDocument {
    /// Returns the row with an id.
    ///
    /// - Parameter id: The id of the row.
    /// - Returns: The row, or `nil` if there is none.
    public func row(_ id: String) -> Row? {
        for section in sections {
            if let row = section.rows.first(where: { $0.id == id }) { return row }
        }
        return nil
    }

    /// Returns the action for a new value of a row: the row's action, with the value added under the row's id.
    ///
    /// - Parameters:
    ///   - id: The id of the row.
    ///   - value: The new value.
    /// - Returns: The action.
    /// - Throws: `PluginError` with the code `unsupportedMessage` when there is no such row or it has no action. The
    ///   code is `invalidField` when the row does not accept the value: a toggle needs a Boolean, a field a string, a
    ///   choice the value of an option.
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
    /// Sends an action as a command, with its values as the payload.
    ///
    /// - Parameters:
    ///   - action: The action.
    ///   - id: The id for the events that the command causes.
    ///   - sender: The plugin that calls.
    /// - Throws: The errors of `send(command:payload:sender:)`, or `PluginError` with the code `invalidName` when the
    ///   id of the action is not a valid name.
    public func perform(
        _ action: ViewDocument.Action, id: MessageID? = nil, as sender: any PluginProtocol
    ) throws {
        let payload = action.values.isEmpty ? nil : action.values
        try send(command: action.command(id: id), payload: payload, sender: sender)
    }
}
