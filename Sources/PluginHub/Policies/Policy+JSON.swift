import Foundation
import Primitives

extension Policy {
    /// Creates a policy from the bytes of a policy file.
    ///
    /// - Parameter bytes: The JSON document.
    /// - Throws: `PluginError` with the code `invalidPolicy`, whose sentence says what is wrong and where.
    public init(json bytes: some Sequence<UInt8>) throws {
        do {
            self = try JSONValue(parsing: bytes).decode(Policy.self)
        } catch {
            throw PluginError(.invalidPolicy, "The policy is invalid: \(Self.reason(error)).", underlying: error)
        }
    }

    /// Creates a policy from a policy file, such as one of a plugin's `configurationFiles`. Later changes of the file
    /// have no effect until the plugin is registered again.
    ///
    /// - Parameter path: The path of the file.
    /// - Throws: `PluginError` with the code `unreadableConfiguration` when the file cannot be read, and
    ///   `invalidPolicy` when it is not a policy.
    public init(contentsOfFile path: String) throws {
        let bytes: Data
        do {
            bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        } catch {
            throw PluginError(
                .unreadableConfiguration,
                "The policy file \(path) cannot be read: give its path in configurationFiles, and check that it exists and may be read.",
                underlying: error)
        }
        do {
            try self.init(json: bytes)
        } catch let error as PluginError {
            throw PluginError(.invalidPolicy, "\(path): \(error.sentence)", underlying: error.underlying)
        }
    }

    private static func reason(_ error: any Error) -> String {
        func place(_ path: [any CodingKey]) -> String {
            let text = path.dotted
            return text.isEmpty ? "the document" : "\"\(text)\""
        }
        return switch error {
        case DecodingError.keyNotFound(let key, let context): "\(place(context.codingPath + [key])) is missing"
        case DecodingError.typeMismatch(let type, let context):
            "\(place(context.codingPath)) must be \(PayloadCoding.phrase(type))"
        case DecodingError.valueNotFound(let type, let context):
            "\(place(context.codingPath)) must be \(PayloadCoding.phrase(type))"
        default: "\(error)"
        }
    }
}
