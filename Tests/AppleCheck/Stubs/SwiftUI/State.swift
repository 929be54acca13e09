/// https://developer.apple.com/documentation/swiftui/state
@propertyWrapper public struct State<Value> {
    public init(wrappedValue value: Value) { declared() }
    public init(initialValue value: Value) { declared() }
    public var wrappedValue: Value {
        get { declared() }
        nonmutating set { declared() }
    }
    public var projectedValue: Binding<Value> { declared() }
}

/// https://developer.apple.com/documentation/swift/sendable
extension State: Sendable where Value: Sendable {}

/// https://developer.apple.com/documentation/swiftui/binding
@propertyWrapper @dynamicMemberLookup public struct Binding<Value> {
    public init(projectedValue: Binding<Value>) { declared() }
    public var wrappedValue: Value {
        get { declared() }
        nonmutating set { declared() }
    }
    public var projectedValue: Binding<Value> { declared() }
    public subscript<Subject>(dynamicMember keyPath: WritableKeyPath<Value, Subject>) -> Binding<Subject> {
        declared()
    }
}
