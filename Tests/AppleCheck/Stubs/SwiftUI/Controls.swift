/// https://developer.apple.com/documentation/swiftui/text
public struct Text: View, Equatable, Sendable {
    public init<S: StringProtocol>(_ content: S) { declared() }
    public var body: Never { declared() }
}

/// https://developer.apple.com/documentation/swiftui/form
@MainActor @preconcurrency public struct Form<Content: View>: View {
    nonisolated public init(@ViewBuilder content: () -> Content) { declared() }
    public var body: Never { declared() }
}

/// https://developer.apple.com/documentation/swiftui/section
public struct Section<Parent, Content, Footer> {}

/// https://developer.apple.com/documentation/swiftui/section
extension Section: View where Parent: View, Content: View, Footer: View {
    public var body: Never { declared() }
}

/// https://developer.apple.com/documentation/swiftui/section/init(_:content:)
extension Section where Parent == Text, Content: View, Footer == EmptyView {
    public init<S: StringProtocol>(_ title: S, @ViewBuilder content: () -> Content) { declared() }
}

/// https://developer.apple.com/documentation/swiftui/foreach
public struct ForEach<Data: RandomAccessCollection, ID: Hashable, Content> {}

/// https://developer.apple.com/documentation/swiftui/foreach/init(_:id:content:)
extension ForEach: View where Content: View {
    public init(_ data: Data, id: KeyPath<Data.Element, ID>, @ViewBuilder content: @escaping (Data.Element) -> Content)
    {
        declared()
    }
    public var body: Never { declared() }
}

/// https://developer.apple.com/documentation/swiftui/button
@MainActor @preconcurrency public struct Button<Label: View>: View {
    public init(action: @escaping @MainActor () -> Void, @ViewBuilder label: () -> Label) { declared() }
    public var body: Never { declared() }
}

/// https://developer.apple.com/documentation/swiftui/button/init(_:action:)
extension Button where Label == Text {
    public init<S: StringProtocol>(_ title: S, action: @escaping @MainActor () -> Void) { declared() }
}

/// https://developer.apple.com/documentation/swiftui/labeledcontent
public struct LabeledContent<Label, Content> {}

/// https://developer.apple.com/documentation/swiftui/labeledcontent
extension LabeledContent: View where Label: View, Content: View {
    public var body: Never { declared() }
}

/// https://developer.apple.com/documentation/swiftui/labeledcontent/init(_:value:)
extension LabeledContent where Label == Text, Content == Text {
    public init<S1: StringProtocol, S2: StringProtocol>(_ title: S1, value: S2) { declared() }
}

/// https://developer.apple.com/documentation/swiftui/toggle
@MainActor @preconcurrency public struct Toggle<Label: View>: View {
    public var body: Never { declared() }
}

/// https://developer.apple.com/documentation/swiftui/toggle/init(_:ison:)
extension Toggle where Label == Text {
    nonisolated public init<S: StringProtocol>(_ title: S, isOn: Binding<Bool>) { declared() }
}

/// https://developer.apple.com/documentation/swiftui/textfield
@MainActor @preconcurrency public struct TextField<Label: View>: View {
    public var body: Never { declared() }
}

/// https://developer.apple.com/documentation/swiftui/textfield/init(_:text:prompt:)
extension TextField where Label == Text {
    nonisolated public init<S: StringProtocol>(_ title: S, text: Binding<String>, prompt: Text?) { declared() }
}

/// https://developer.apple.com/documentation/swiftui/picker
@MainActor @preconcurrency public struct Picker<Label: View, SelectionValue: Hashable, Content: View>: View {
    public var body: Never { declared() }
}

/// https://developer.apple.com/documentation/swiftui/picker/init(_:selection:content:)
extension Picker where Label == Text {
    nonisolated public init<S: StringProtocol>(
        _ title: S, selection: Binding<SelectionValue>, @ViewBuilder content: () -> Content
    ) { declared() }
}
