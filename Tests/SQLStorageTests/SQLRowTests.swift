import SQLStorage
import Testing

@Suite struct SQLRowTests {
    private let row = SQLRow(
        columns: ["name", "age", "weight", "photo", "note", "age2", "age2"],
        values: ["Ada", 36, 61.5, .blob([1, 2]), nil, 1, 2])

    private func message<T: SQLConvertible>(_ type: T.Type, _ column: String) -> String? {
        let error = #expect(throws: SQLError(.unexpectedValue, "")) {
            let _: T = try row[column]
        }
        return error?.message
    }

    @Test func `a value is read as the requested type`() throws {
        let (name, age, weight): (String, Int, Double) = (try row["name"], try row["age"], try row["weight"])
        #expect((name, age, weight) == ("Ada", 36, 61.5))
        let (photo, wide, first): ([UInt8], Int64, SQLValue) = (try row["photo"], try row["age"], try row[0])
        #expect(photo == [1, 2])
        #expect(wide == 36)
        #expect(first == "Ada")
        let (note, known): (String?, String?) = (try row["note"], try row["name"])
        #expect(note == nil)
        #expect(known == "Ada")
        let whole: Double = try row["age"]
        #expect(whole == 36)
    }

    @Test func `a mismatch names the column and both kinds, never the value`() {
        #expect(message(Int.self, "name") == "The column name holds text where an integer is expected.")
        #expect(message(String.self, "note") == "The column note holds NULL where text is expected.")
        #expect(
            message(Int?.self, "weight")
                == "The column weight holds a real number where an integer or NULL is expected.")
        #expect(message(Bool.self, "age") == "The column age holds an integer where 0 or 1 is expected.")
        #expect(message([UInt8].self, "age") == "The column age holds an integer where a blob is expected.")
        #expect(message(Double.self, "photo") == "The column photo holds a blob where a real number is expected.")
    }

    @Test func `an unknown or ambiguous column is refused`() {
        #expect(message(Int.self, "Name")?.contains("no column Name") == true)
        #expect(message(Int.self, "age2")?.contains("more than one column age2") == true)
        #expect(throws: SQLError(.unexpectedValue, "")) { let _: Int = try row[7] }
        #expect(throws: SQLError(.unexpectedValue, "")) { let _: Int = try row[-1] }
    }

    @Test func `numbers are never rounded or truncated`() {
        #expect(Double(sqlValue: .integer(1 << 53)) == 0x1p53)
        #expect(Double(sqlValue: .integer(1 << 53 + 1)) == nil)
        #expect(Int(sqlValue: 1.0) == nil)
        #expect(Bool(sqlValue: 2) == nil)
    }

    @Test func `Swift values become SQL values`() {
        #expect(SQLValue("a") == .text("a"))
        #expect(SQLValue(1) == .integer(1))
        #expect(SQLValue(true) == .integer(1))
        #expect(SQLValue([UInt8(1)]) == .blob([1]))
        #expect(SQLValue(Int64?.none) == .null)
        #expect(SQLValue(Double?.some(2)) == .real(2))
    }
}
