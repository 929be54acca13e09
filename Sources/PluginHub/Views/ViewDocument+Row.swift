import Primitives

extension ViewDocument {
    /// A row of a screen. The set of kinds is closed, so every renderer draws all of them.
    public enum Row: Sendable, Hashable {
        /// A text, which can have an action.
        case text(_ label: String, _ value: String? = nil, id: String? = nil, action: Action? = nil)
        /// A switch.
        case toggle(id: String, label: String, isOn: Bool, action: Action? = nil)
        /// A text field. The placeholder is visible while the value is empty.
        case field(id: String, label: String, value: String = "", placeholder: String? = nil, action: Action? = nil)
        /// A choice between options; `selected` is the value of the selected option.
        case choice(id: String, label: String, options: [Option], selected: String? = nil, action: Action? = nil)
    }

    /// A text, which can have an action.
    package struct Text: Sendable, Hashable, Codable {
        package var id: String?
        package var label: String
        package var value: String?
        package var action: Action?

        package init(id: String? = nil, label: String, value: String? = nil, action: Action? = nil) {
            self.id = id
            self.label = label
            self.value = value
            self.action = action
        }
    }

    /// A switch.
    package struct Toggle: Sendable, Hashable, Codable {
        package var id: String
        package var label: String
        package var isOn: Bool
        package var action: Action?

        package init(id: String, label: String, isOn: Bool, action: Action? = nil) {
            self.id = id
            self.label = label
            self.isOn = isOn
            self.action = action
        }
    }

    /// A text field.
    package struct Field: Sendable, Hashable, Codable {
        package var id: String
        package var label: String
        package var value: String
        /// The text that is visible while the value is empty.
        package var placeholder: String?
        package var action: Action?

        package init(id: String, label: String, value: String = "", placeholder: String? = nil, action: Action? = nil) {
            self.id = id
            self.label = label
            self.value = value
            self.placeholder = placeholder
            self.action = action
        }
    }

    /// A choice between options.
    package struct Choice: Sendable, Hashable, Codable {
        package var id: String
        package var label: String
        package var options: [Option]
        /// The value of the selected option.
        package var selected: String?
        package var action: Action?

        package init(id: String, label: String, options: [Option], selected: String? = nil, action: Action? = nil) {
            self.id = id
            self.label = label
            self.options = options
            self.selected = selected
            self.action = action
        }
    }

    /// An option of a choice.
    public struct Option: Sendable, Hashable, Codable {
        /// The value that an action receives.
        public var value: String
        /// The visible text.
        public var label: String

        /// Creates an option.
        ///
        /// - Parameters:
        ///   - value: The value that an action receives.
        ///   - label: The visible text; by default the value.
        public init(_ value: String, label: String? = nil) {
            self.value = value
            self.label = label ?? value
        }
    }
}

extension ViewDocument.Row {
    /// The properties of a row by its kind.
    package enum Content {
        case text(ViewDocument.Text)
        case toggle(ViewDocument.Toggle)
        case field(ViewDocument.Field)
        case choice(ViewDocument.Choice)
    }

    package init(_ content: Content) {
        switch content {
        case .text(let row): self = .text(row.label, row.value, id: row.id, action: row.action)
        case .toggle(let row): self = .toggle(id: row.id, label: row.label, isOn: row.isOn, action: row.action)
        case .field(let row):
            self = .field(
                id: row.id, label: row.label, value: row.value, placeholder: row.placeholder, action: row.action)
        case .choice(let row):
            self = .choice(
                id: row.id, label: row.label, options: row.options, selected: row.selected, action: row.action)
        }
    }

    package var content: Content {
        switch self {
        case .text(let label, let value, let id, let action):
            .text(ViewDocument.Text(id: id, label: label, value: value, action: action))
        case .toggle(let id, let label, let isOn, let action):
            .toggle(ViewDocument.Toggle(id: id, label: label, isOn: isOn, action: action))
        case .field(let id, let label, let value, let placeholder, let action):
            .field(
                ViewDocument.Field(id: id, label: label, value: value, placeholder: placeholder, action: action))
        case .choice(let id, let label, let options, let selected, let action):
            .choice(
                ViewDocument.Choice(id: id, label: label, options: options, selected: selected, action: action))
        }
    }

    /// The id of the row.
    public var id: String? {
        switch content {
        case .text(let row): row.id
        case .toggle(let row): row.id
        case .field(let row): row.id
        case .choice(let row): row.id
        }
    }

    /// The label of the row.
    public var label: String {
        switch content {
        case .text(let row): row.label
        case .toggle(let row): row.label
        case .field(let row): row.label
        case .choice(let row): row.label
        }
    }

    /// The action of the row.
    public var action: ViewDocument.Action? {
        switch content {
        case .text(let row): row.action
        case .toggle(let row): row.action
        case .field(let row): row.action
        case .choice(let row): row.action
        }
    }

    /// Returns whether the row can be set to `value`. A text cannot be set.
    func accepts(_ value: JSONValue) -> Bool {
        switch content {
        case .text: false
        case .toggle: value.boolValue != nil
        case .field: value.stringValue != nil
        case .choice(let row): row.options.contains { $0.value == value.stringValue }
        }
    }

    var expectation: String {
        switch content {
        case .text: "unchanged, because it has no input"
        case .toggle: "true or false"
        case .field: "a string"
        case .choice(let row): "one of " + row.options.map { "\"\($0.value)\"" }.joined(separator: ", ")
        }
    }
}

extension ViewDocument.Row: Codable {
    private enum Kind: String, Codable { case text, toggle, field, choice }
    private enum CodingKeys: String, CodingKey { case type }

    /// Decodes a row.
    ///
    /// - Parameter decoder: The decoder.
    /// - Throws: `DecodingError` when the type of the row is unknown or a member is missing.
    public init(from decoder: any Decoder) throws {
        switch try decoder.container(keyedBy: CodingKeys.self).decode(Kind.self, forKey: .type) {
        case .text: self.init(.text(try ViewDocument.Text(from: decoder)))
        case .toggle: self.init(.toggle(try ViewDocument.Toggle(from: decoder)))
        case .field: self.init(.field(try ViewDocument.Field(from: decoder)))
        case .choice: self.init(.choice(try ViewDocument.Choice(from: decoder)))
        }
    }

    /// Encodes the row.
    ///
    /// - Parameter encoder: The encoder.
    /// - Throws: The error of the encoder.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        switch content {
        case .text(let row):
            try container.encode(Kind.text, forKey: .type)
            try row.encode(to: encoder)
        case .toggle(let row):
            try container.encode(Kind.toggle, forKey: .type)
            try row.encode(to: encoder)
        case .field(let row):
            try container.encode(Kind.field, forKey: .type)
            try row.encode(to: encoder)
        case .choice(let row):
            try container.encode(Kind.choice, forKey: .type)
            try row.encode(to: encoder)
        }
    }
}
