import Primitives

extension ViewDocument {
    /// One line of a screen. The kinds are closed: every renderer draws all of them.
    public enum Row: Sendable, Hashable {
        case text(Text)
        case toggle(Toggle)
        case field(Field)
        case choice(Choice)
    }

    /// Something to read, and to tap if it has an action.
    public struct Text: Sendable, Hashable, Codable {
        public var id: String?
        public var label: String
        public var value: String?
        public var action: Action?

        public init(id: String? = nil, label: String, value: String? = nil, action: Action? = nil) {
            self.id = id
            self.label = label
            self.value = value
            self.action = action
        }
    }

    /// On or off.
    public struct Toggle: Sendable, Hashable, Codable {
        public var id: String
        public var label: String
        public var isOn: Bool
        public var action: Action?

        public init(id: String, label: String, isOn: Bool, action: Action? = nil) {
            self.id = id
            self.label = label
            self.isOn = isOn
            self.action = action
        }
    }

    /// A text to write.
    public struct Field: Sendable, Hashable, Codable {
        public var id: String
        public var label: String
        public var value: String
        /// Shown while there is no value.
        public var placeholder: String?
        public var action: Action?

        public init(id: String, label: String, value: String = "", placeholder: String? = nil, action: Action? = nil) {
            self.id = id
            self.label = label
            self.value = value
            self.placeholder = placeholder
            self.action = action
        }
    }

    /// One of several.
    public struct Choice: Sendable, Hashable, Codable {
        public var id: String
        public var label: String
        public var options: [Option]
        /// The value of the chosen option.
        public var selected: String?
        public var action: Action?

        public init(id: String, label: String, options: [Option], selected: String? = nil, action: Action? = nil) {
            self.id = id
            self.label = label
            self.options = options
            self.selected = selected
            self.action = action
        }
    }

    /// One of the things a `Choice` offers.
    public struct Option: Sendable, Hashable, Codable {
        public var value: String
        public var label: String

        public init(_ value: String, label: String? = nil) {
            self.value = value
            self.label = label ?? value
        }
    }
}

extension ViewDocument.Row {
    public static func text(
        _ label: String, _ value: String? = nil, id: String? = nil, action: ViewDocument.Action? = nil
    ) -> ViewDocument.Row {
        .text(ViewDocument.Text(id: id, label: label, value: value, action: action))
    }

    public static func toggle(
        id: String, label: String, isOn: Bool, action: ViewDocument.Action? = nil
    ) -> ViewDocument.Row {
        .toggle(ViewDocument.Toggle(id: id, label: label, isOn: isOn, action: action))
    }

    public static func field(
        id: String, label: String, value: String = "", placeholder: String? = nil, action: ViewDocument.Action? = nil
    ) -> ViewDocument.Row {
        .field(ViewDocument.Field(id: id, label: label, value: value, placeholder: placeholder, action: action))
    }

    public static func choice(
        id: String, label: String, options: [ViewDocument.Option], selected: String? = nil,
        action: ViewDocument.Action? = nil
    ) -> ViewDocument.Row {
        .choice(ViewDocument.Choice(id: id, label: label, options: options, selected: selected, action: action))
    }

    public var id: String? {
        switch self {
        case .text(let row): row.id
        case .toggle(let row): row.id
        case .field(let row): row.id
        case .choice(let row): row.id
        }
    }

    public var label: String {
        switch self {
        case .text(let row): row.label
        case .toggle(let row): row.label
        case .field(let row): row.label
        case .choice(let row): row.label
        }
    }

    public var action: ViewDocument.Action? {
        switch self {
        case .text(let row): row.action
        case .toggle(let row): row.action
        case .field(let row): row.action
        case .choice(let row): row.action
        }
    }

    /// Whether the row can be set to `value`; a text cannot be set.
    func accepts(_ value: JSONValue) -> Bool {
        switch self {
        case .text: false
        case .toggle: value.boolValue != nil
        case .field: value.stringValue != nil
        case .choice(let row): row.options.contains { $0.value == value.stringValue }
        }
    }

    var expectation: String {
        switch self {
        case .text: "left as it is: it is a text to read"
        case .toggle: "true or false"
        case .field: "a text"
        case .choice(let row): "one of " + row.options.map { "\"\($0.value)\"" }.joined(separator: ", ")
        }
    }
}

extension ViewDocument.Row: Codable {
    private enum Kind: String, Codable { case text, toggle, field, choice }
    private enum CodingKeys: String, CodingKey { case type }

    public init(from decoder: any Decoder) throws {
        switch try decoder.container(keyedBy: CodingKeys.self).decode(Kind.self, forKey: .type) {
        case .text: self = .text(try ViewDocument.Text(from: decoder))
        case .toggle: self = .toggle(try ViewDocument.Toggle(from: decoder))
        case .field: self = .field(try ViewDocument.Field(from: decoder))
        case .choice: self = .choice(try ViewDocument.Choice(from: decoder))
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        switch self {
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
