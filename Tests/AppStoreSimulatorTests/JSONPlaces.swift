import Primitives
import SQLStorage

@testable import AppStoreSimulator

/// The places of values in a JSON document, and their replacement.
enum JSONPlaces {
    /// Member names and indexes from the root of the document. `..` leads into a string that contains JSON.
    typealias Path = [String]

    private static let inner = ".."

    /// Returns the places of the wanted values. In arrays whose elements have the same places, uses only the first
    /// `sample` elements.
    static func paths(in value: JSONValue, sample: Int = 1, where isWanted: (JSONValue) -> Bool) -> [Path] {
        let own: [Path] = isWanted(value) ? [[]] : []
        switch value {
        case .object(let members):
            return own
                + members.flatMap { member in
                    paths(in: member.value, sample: sample, where: isWanted).map { [member.key] + $0 }
                }
        case .array(let elements):
            var seen: [String: Int] = [:]
            return own
                + elements.enumerated().flatMap { index, element -> [Path] in
                    paths(in: element, sample: sample, where: isWanted).compactMap { path in
                        let form = path.joined(separator: "/")
                        seen[form, default: 0] += 1
                        return seen[form, default: 0] <= sample ? ["\(index)"] + path : nil
                    }
                }
        case .string(let text):
            guard text.utf8.first == 0x7B || text.utf8.first == 0x5B || JSONNumber(text: text) != nil,
                let json = try? JSONValue(parsing: text)
            else { return own }
            return own + paths(in: json, sample: sample, where: isWanted).map { [inner] + $0 }
        default: return own
        }
    }

    /// Returns `value` with the value at `path` replaced.
    static func replace(_ path: Path, in value: JSONValue, with new: JSONValue) -> JSONValue {
        guard let step = path.first else { return new }
        let rest = Array(path.dropFirst())
        switch value {
        case .object(var members):
            if let old = members[step] { members[step] = replace(rest, in: old, with: new) }
            return .object(members)
        case .array(var elements):
            if let index = Int(step), elements.indices.contains(index) {
                elements[index] = replace(rest, in: elements[index], with: new)
            }
            return .array(elements)
        case .string(let text):
            guard let json = try? JSONValue(parsing: text) else { return value }
            return .string(replace(rest, in: json, with: new).text(pretty: false))
        default: return value
        }
    }
}

extension TestStore {
    /// Returns the columns of a type in the database, as `table.column`.
    func columns(of type: String) throws -> Set<String> {
        try store.database.read { sql in
            let rows = try sql.query(
                """
                SELECT m.name AS name, c.name AS part FROM sqlite_master m JOIN pragma_table_info(m.name) c
                WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' AND m.name <> 'schema_migrations'
                AND c.type = ?1
                """, [.text(type)])
            return Set(
                try rows.map { row in
                    let (table, column): (String, String) = (try row["name"], try row["part"])
                    return "\(table).\(column)"
                })
        }
    }
}
