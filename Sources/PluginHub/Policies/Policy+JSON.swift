import Foundation
import Primitives

extension Policy {
    /// Reads a policy file's bytes. Throws `PluginError` code `invalidPolicy`, whose sentence says what is wrong where.
    public init(json bytes: some Sequence<UInt8>) throws {
        do {
            self = try JSONValue(parsing: bytes).decode(Policy.self)
        } catch {
            throw PluginError(.invalidPolicy, "The policy is not usable: \(Self.reason(error)).", underlying: error)
        }
    }

    /// Reads the policy file at `path`, as a plugin does with one of its `configurationFiles`.
    ///
    /// Throws `PluginError` code `unreadableConfiguration` when the file cannot be read, `invalidPolicy` when it is no
    /// policy. What becomes of the file later has no effect before the plugin is registered again.
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
