/// The name of ``Interceptor`` in the Cauli library.
public typealias Cauli = Interceptor
/// The name of ``RecordStorage`` in the Cauli library.
public typealias Storage = RecordStorage

extension Redaction {
    /// The former name of `isRedacted(_:)`.
    @available(*, deprecated, renamed: "isRedacted(_:)")
    public static func marks(_ text: String) -> Bool { isRedacted(text) }
}

extension InspectorPage.Configuration {
    /// The former name of `keepAliveInterval`.
    @available(*, deprecated, renamed: "keepAliveInterval")
    public var silence: Duration {
        get { keepAliveInterval }
        set { keepAliveInterval = newValue }
    }
}
