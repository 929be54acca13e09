/// The decoded values of a pattern's `{name}` segments.
public struct PathParameters: Sendable {
    private let names: [String]
    private let values: [String]

    /// Parameters for calling a route's function directly.
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

    /// The value of `{name}`, never empty. The pattern must have that parameter.
    public subscript(name: String) -> String {
        guard let index = names.firstIndex(of: name) else {
            preconditionFailure("the route's pattern has no parameter {\(name)}")
        }
        return values[index]
    }
}
