/// The arguments of the process.
///
/// `CommandLine.arguments` replaces bytes that are not UTF-8, so two identifiers could become the same. This type
/// rejects them.
enum TypedArguments {
    /// Returns the arguments after the program's name. Throws `UsageError` for one that is not UTF-8.
    static func read(
        _ count: Int32, _ values: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
    ) throws(UsageError) -> [String] {
        var arguments: [String] = []
        for index in 1..<max(1, Int(count)) {
            guard let value = values[index] else { break }
            guard let text = String(validatingCString: value) else {
                throw UsageError("argument \(index) is not UTF-8: \"\(String(cString: value))\"")
            }
            arguments.append(text)
        }
        return arguments
    }
}
