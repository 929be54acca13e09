/// https://developer.apple.com/documentation/swiftui/state
@propertyWrapper public struct State<Value> {
    // …/state/init(wrappedvalue:)
    public init(wrappedValue value: Value) { declared() }
    // …/state/init(initialvalue:)
    public init(initialValue value: Value) { declared() }
    // …/state/wrappedvalue
    public var wrappedValue: Value {
        get { declared() }
        nonmutating set { declared() }
    }
    // …/state/projectedvalue
    public var projectedValue: Binding<Value> { declared() }
}

/// https://developer.apple.com/documentation/swift/sendable
extension State: Sendable where Value: Sendable {}

/// https://developer.apple.com/documentation/swiftui/binding
@propertyWrapper @dynamicMemberLookup public struct Binding<Value> {
    // …/binding/init(projectedvalue:)
    public init(projectedValue: Binding<Value>) { declared() }
    // …/binding/wrappedvalue
    public var wrappedValue: Value {
        get { declared() }
        nonmutating set { declared() }
    }
    // …/binding/projectedvalue
    public var projectedValue: Binding<Value> { declared() }
    // …/binding/subscript(dynamicmember:)
    public subscript<Subject>(dynamicMember keyPath: WritableKeyPath<Value, Subject>) -> Binding<Subject> {
        declared()
    }
}
