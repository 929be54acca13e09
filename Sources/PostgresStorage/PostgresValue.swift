import CPostgreSQL
import Primitives
import SQLStorage

/// PostgreSQL types in which values are sent and read, by their object ids in `pg_type.dat`.
enum PostgresType {
    static let unspecified: Oid = 0
    static let bool: Oid = 16
    static let bytea: Oid = 17
    static let char: Oid = 18
    static let name: Oid = 19
    static let int8: Oid = 20
    static let int2: Oid = 21
    static let int4: Oid = 23
    static let text: Oid = 25
    static let oid: Oid = 26
    static let float4: Oid = 700
    static let float8: Oid = 701
    static let unknown: Oid = 705
    static let bpchar: Oid = 1042
    static let varchar: Oid = 1043
}

extension SQLValue {
    /// The type in which a value is sent. The statement determines the type of NULL.
    var postgresType: Oid {
        switch self {
        case .null: PostgresType.unspecified
        case .integer: PostgresType.int8
        case .real: PostgresType.float8
        case .text: PostgresType.text
        case .blob: PostgresType.bytea
        }
    }

    /// The bytes in PostgreSQL's binary format; `nil` for NULL. Throws `invalidValue` for NaN and for text with U+0000,
    /// which not every dialect can store.
    func postgresBytes(at index: Int) throws(SQLError) -> [UInt8]? {
        switch self {
        case .null: return nil
        case .integer(let number): return withUnsafeBytes(of: number.bigEndian) { Array($0) }
        case .real(let number):
            guard !number.isNaN else {
                throw SQLError(.invalidValue, "The value for ?\(index) is not a number and cannot be stored.")
            }
            return withUnsafeBytes(of: number.bitPattern.bigEndian) { Array($0) }
        case .text(let text):
            let bytes = Array(text.utf8)
            guard !bytes.contains(0) else {
                throw SQLError(.invalidValue, "The text for ?\(index) holds U+0000, which cannot be stored.")
            }
            return bytes
        case .blob(let bytes): return bytes
        }
    }

    /// Decodes a value in PostgreSQL's binary format. Throws `unexpectedValue` for a type without a `SQLValue`.
    init(postgres bytes: UnsafeRawBufferPointer, type: Oid, of column: String) throws(SQLError) {
        switch type {
        case PostgresType.text, PostgresType.char, PostgresType.name, PostgresType.unknown, PostgresType.bpchar,
            PostgresType.varchar:
            guard let text = String(utf8: bytes) else {
                throw SQLError(.unexpectedValue, "The column \(column) holds text that is not UTF-8.")
            }
            self = .text(text)
        case PostgresType.int8 where bytes.count == 8:
            self = .integer(Int64(bigEndian: bytes.loadUnaligned(as: Int64.self)))
        case PostgresType.int4 where bytes.count == 4:
            self = .integer(Int64(Int32(bigEndian: bytes.loadUnaligned(as: Int32.self))))
        case PostgresType.int2 where bytes.count == 2:
            self = .integer(Int64(Int16(bigEndian: bytes.loadUnaligned(as: Int16.self))))
        case PostgresType.oid where bytes.count == 4:
            self = .integer(Int64(UInt32(bigEndian: bytes.loadUnaligned(as: UInt32.self))))
        case PostgresType.bool where bytes.count == 1: self = .integer(bytes[0] == 0 ? 0 : 1)
        case PostgresType.bytea: self = .blob(Array(bytes))
        case PostgresType.float8 where bytes.count == 8:
            self = .real(Double(bitPattern: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self))))
        case PostgresType.float4 where bytes.count == 4:
            self = .real(Double(Float(bitPattern: UInt32(bigEndian: bytes.loadUnaligned(as: UInt32.self)))))
        default:
            throw SQLError(
                .unexpectedValue,
                "The column \(column) is of a type that is not read (number \(type) of pg_type); cast it to BIGINT, "
                    + "DOUBLE PRECISION, TEXT or BYTEA.")
        }
    }
}
