/// The decoded values of the `{name}` segments of a route.
public struct PathParameters: Sendable {
    private let names: [String]
    private let values: [String]

    /// Creates parameters, to call the function of a route directly.
    ///
    /// - Parameter parameters: The names and their decoded values, in the order of the pattern.
    public init(_ parameters: KeyValuePairs<String, String> = [:]) {
        names = parameters.map(\.key)
        values = parameters.map(\.value)
    }

    init(names: [String], values: [String]) {
        self.names = names
        self.values = values
    }

    /// Every parameter, in the order of the pattern.
    package var all: some Sequence<(name: String, value: String)> {
        zip(names, values).lazy.map { (name: $0, value: $1) }
    }

    /// The value of `{name}`, which is never empty.
    ///
    /// The pattern must contain that parameter.
    ///
    /// - Parameter name: The name of the parameter.
    public subscript(name: String) -> String {
        guard let index = names.firstIndex(of: name) else {
            preconditionFailure("the route's pattern has no parameter {\(name)}")
        }
        return values[index]
    }
}
