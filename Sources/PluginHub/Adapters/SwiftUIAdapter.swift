#if canImport(SwiftUI)
    import SwiftUI

    #if canImport(UIKit) && !os(watchOS)
        import UIKit
    #endif

    /// A plugin that draws its screens with SwiftUI.
    ///
    /// A sender that expects a `ViewDocument` receives one with a title only. A view query that is not sent on the main
    /// actor fails with `viewUnavailable`.
    public protocol SwiftUIPlugin: PluginProtocol {
        /// Returns a screen as a view.
        ///
        /// - Parameters:
        ///   - viewQuery: The view query.
        ///   - payload: The parameters of the query, or `nil`.
        /// - Returns: The screen.
        /// - Throws: An error when the plugin cannot show the screen.
        @MainActor func onReceive(viewQuery: Message, payload: JSONObject?) throws -> any View
    }

    extension SwiftUIPlugin {
        /// Returns a document that carries the view.
        ///
        /// - Parameters:
        ///   - viewQuery: The view query.
        ///   - payload: The parameters of the query, or `nil`.
        /// - Returns: The document.
        /// - Throws: The error of the plugin, or `PluginError` with the code `viewUnavailable` off the main actor.
        public func onReceive(viewQuery: Message, payload: JSONObject?) throws -> ViewDocument {
            try NativeView.document(for: viewQuery) {
                SwiftUIScreen(view: try onReceive(viewQuery: viewQuery, payload: payload))
            }
        }
    }

    /// A view in a document.
    ///
    /// Sendable: created and read only on the main actor.
    struct SwiftUIScreen: @unchecked Sendable {
        let view: any View
    }

    extension MessageSending {
        /// Sends a view query and returns the screen as a view: the plugin's own view, or a form for its document. The
        /// actions of the form are sent as commands of `sender`.
        ///
        /// The method that returns a `ViewDocument` is called unless the type is stated:
        ///
        ///     let screen: any View = try hub.send(viewQuery: "info.show", payload: nil, sender: self)
        ///
        /// - Parameters:
        ///   - viewQuery: The view query.
        ///   - payload: The parameters of the query, or `nil`.
        ///   - sender: The plugin that calls.
        /// - Returns: The view.
        /// - Throws: `PluginError`, or the error of the receiver.
        @MainActor @_disfavoredOverload
        public func send(
            viewQuery: Message, payload: JSONObject?, sender: any PluginProtocol
        ) throws -> any View {
            let document: ViewDocument = try send(viewQuery: viewQuery, payload: payload, sender: sender)
            return document.view { [weak sender] action in
                if let sender { try self.perform(action, as: sender) }
            }
        }
    }

    extension ViewDocument {
        /// Returns the document as a view.
        ///
        /// - Parameter perform: A function that executes an action of the user. The view displays its error.
        /// - Returns: The view.
        @MainActor public func view(perform: @escaping @MainActor (Action) throws -> Void) -> any View {
            if let screen = native.view as? SwiftUIScreen { return screen.view }
            #if canImport(UIKit) && !os(watchOS)
                if let controller = native.view as? UIViewController { return ControllerView(controller: controller) }
            #endif
            return ViewDocumentView(self, perform: perform)
        }
    }

    /// A `ViewDocument` as a form.
    @MainActor public struct ViewDocumentView: View {
        private let document: ViewDocument
        private let perform: @MainActor (ViewDocument.Action) throws -> Void
        @State private var refusal = ""
        @State private var isRefused = false

        /// Creates a form.
        ///
        /// - Parameters:
        ///   - document: The document to show.
        ///   - perform: A function that executes an action of the user. The form displays its error and resets the
        ///     control.
        public init(_ document: ViewDocument, perform: @escaping @MainActor (ViewDocument.Action) throws -> Void) {
            self.document = document
            self.perform = perform
        }

        /// The form.
        public var body: some View {
            Form {
                ForEach(document.sections.indices, id: \.self) { index in section(document.sections[index]) }
            }
            .navigationTitle(document.title)
            .alert(refusal, isPresented: $isRefused) { Button("OK") {} }
        }

        private func section(_ section: ViewDocument.Section) -> some View {
            Section(section.title ?? "") {
                ForEach(section.rows.indices.map { Place(index: $0, row: section.rows[$0]) }, id: \.self) { place in
                    row(place.row)
                }
                ForEach(section.actions, id: \.self) { action in
                    Button(action.label ?? action.id) { run { action } }
                }
            }
        }

        /// The identity of a row. It includes the content, so that a row with a changed value gets a new control.
        private struct Place: Hashable {
            let index: Int
            let row: ViewDocument.Row
        }

        @ViewBuilder private func row(_ row: ViewDocument.Row) -> some View {
            switch row.content {
            case .text(let text):
                if let action = text.action {
                    Button {
                        run { action }
                    } label: {
                        LabeledContent(text.label, value: text.value ?? "")
                    }
                } else {
                    LabeledContent(text.label, value: text.value ?? "")
                }
            case .toggle(let toggle):
                Setting(toggle.isOn, when: .changed) {
                    set(toggle.id, .bool($0))
                } control: {
                    Toggle(toggle.label, isOn: $0)
                }
                .disabled(toggle.action == nil)
            case .field(let field):
                Setting(field.value, when: .submitted) {
                    set(field.id, .string($0))
                } control: {
                    TextField(field.label, text: $0, prompt: field.placeholder.map { Text($0) })
                }
                .disabled(field.action == nil)
            case .choice(let choice):
                Setting(choice.selected ?? "", when: .changed) {
                    set(choice.id, .string($0))
                } control: {
                    Picker(choice.label, selection: $0) {
                        ForEach(choice.options, id: \.self) { Text($0.label).tag($0.value) }
                    }
                }
                .disabled(choice.action == nil)
            }
        }

        private func set(_ id: String, _ value: JSONValue) -> Bool {
            run { try document.action(setting: id, to: value) }
        }

        @discardableResult private func run(_ action: () throws -> ViewDocument.Action) -> Bool {
            do {
                try perform(action())
                return true
            } catch {
                refusal = (error as? PluginError)?.sentence ?? error.localizedDescription
                isRefused = true
                return false
            }
        }
    }

    /// A control with its value. A refused value is replaced by the last accepted value.
    @MainActor private struct Setting<Value: Equatable, Control: View>: View {
        enum Trigger { case changed, submitted }

        private let trigger: Trigger
        private let set: @MainActor (Value) -> Bool
        private let control: @MainActor (Binding<Value>) -> Control
        @State private var value: Value
        @State private var accepted: Value

        init(
            _ value: Value, when trigger: Trigger, set: @escaping @MainActor (Value) -> Bool,
            @ViewBuilder control: @escaping @MainActor (Binding<Value>) -> Control
        ) {
            self.trigger = trigger
            self.set = set
            self.control = control
            _value = State(initialValue: value)
            _accepted = State(initialValue: value)
        }

        var body: some View {
            switch trigger {
            case .changed: control($value).onChange(of: value) { submit() }
            case .submitted: control($value).onSubmit { submit() }
            }
        }

        private func submit() {
            guard value != accepted else { return }
            if set(value) { accepted = value } else { value = accepted }
        }
    }
#endif
