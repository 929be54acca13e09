import Foundation
import Primitives

/// Arbitrary bytes as JSON. An accepted value must be equal after it is written and read again. The same holds for text
/// in it that looks like base64, hexadecimal digits or a date. The coder reads the value as every kind of type, and
/// writes it unchanged.
#if FUZZING
    @_cdecl("LLVMFuzzerTestOneInput")
#endif
public func fuzzJSON(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Fuzzing.bytes(start, count)
    let parsed = try? JSONValue(parsing: bytes)
    if let read = readElements(bytes) {
        Fuzzing.claim(parsed == read, "the elements of an array are those of the whole document")
    } else if case .array? = parsed {
        Fuzzing.claim(false, "the elements of an array can be read one by one")
    }
    guard let value = parsed else { return 0 }
    for written in [value.encoded(), Array(value.text(pretty: true).utf8)] {
        Fuzzing.claim((try? JSONValue(parsing: written)) == value, "a written document is read as the same value")
    }
    examine(value)
    Fuzzing.claim((try? JSONValue(encoding: value)) == value, "a document is encoded as itself")
    for dates in [JSONCodingRules.Dates.seconds, .text, .textOrSeconds] {
        _ = try? JSONValueDecoder.decode(AnyKind.self, from: value, rules: .init(dates: dates, errors: .mismatches))
    }
    return 0
}

/// Returns the elements of an array, plain objects as such; `nil` for another document.
private func readElements(_ bytes: [UInt8]) -> JSONValue? {
    func add(_ name: String, _ value: JSONValue, to members: inout JSONMembers) -> Bool {
        guard members[name] == nil else { return false }
        members[name] = value
        return true
    }
    let elements = try? JSONElements.reading(bytes) { elements throws(JSONError) -> [JSONValue] in
        var all: [JSONValue] = []
        while true {
            var members = JSONMembers()
            let isPlain = elements.nextPlainObject { name, value in
                let name = String(decoding: name, as: UTF8.self)
                return switch value {
                case .string(let text): add(name, .string(String(decoding: text, as: UTF8.self)), to: &members)
                case .bool(let flag): add(name, .bool(flag), to: &members)
                }
            }
            if isPlain {
                all.append(.object(members))
            } else if let element = try elements.next() {
                all.append(element)
            } else {
                return all
            }
        }
    }
    return (elements ?? nil).map { .array($0) }
}

/// Decodes every kind of value at every place.
private struct AnyKind: Decodable {
    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let integer = try? container.decode(Int.self)
        if let real = try? container.decode(Double.self) {
            Fuzzing.claim(real.isFinite, "a number is finite")
            if let integer { Fuzzing.claim(Double(integer) == real, "an integer is the number that is written") }
        } else {
            Fuzzing.claim(integer == nil, "an integer is a number")
        }
        _ = (try? container.decode(UInt64.self), try? container.decode(Int8.self), try? container.decode(Float.self))
        _ = (try? container.decode(Decimal.self), try? container.decode(Date.self), try? container.decode(URL.self))
        _ = (try? container.decode(Data.self), try? container.decode(UUID.self), try? container.decode(Bool?.self))
        _ = try? container.decode([Int: String].self)
        if let members = try? decoder.container(keyedBy: JSONPathKey.self) {
            for key in members.allKeys {
                Fuzzing.claim(members.contains(key), "a name is found")
                _ = try? members.decodeIfPresent(AnyKind.self, forKey: key)
            }
        } else if var elements = try? decoder.unkeyedContainer() {
            while !elements.isAtEnd { _ = try elements.decode(AnyKind.self) }
        }
    }
}

private func examine(_ value: JSONValue) {
    switch value {
    case .null, .bool: break
    case .number(let number):
        _ = (number.int, number.double, number.decimal, number.hashValue)
        Fuzzing.claim(JSONNumber(text: number.text) == number, "a number's text is a number")
    case .string(let text): examine(text)
    case .array(let elements): elements.forEach(examine)
    case .object(let members):
        for (name, member) in members {
            Fuzzing.claim(value[name] == member, "a name has one value")
            examine(name)
            examine(member)
        }
    }
}

private func examine(_ text: String) {
    if let bytes = Base64.decodeURL(text) {
        Fuzzing.claim(Base64.encodeURL(bytes) == text, "bytes have one base64url")
    }
    if let bytes = Base64.decode(text) { Fuzzing.claim(Base64.encode(bytes) == text, "bytes have one base64") }
    if let bytes = Hex.decode(text) {
        Fuzzing.claim(Hex.encode(bytes) == text.lowercased(), "bytes have one hexadecimal text")
    }
    if let date = RFC3339.date(from: text) {
        let again = RFC3339.date(from: RFC3339.string(from: date))
        Fuzzing.claim(again.map { abs($0.timeIntervalSince(date)) < 0.001 } ?? false, "a date reads the same: \(text)")
    }
}

/// The seeds of the search.
func jsonSeeds() -> [[UInt8]] {
    [
        #"{"a":[1,-0.5e+10,true,false,null,"\u00e9\ud83d\ude00\n\"\\"],"b":{}}"#, "[[[[[]]]]]",
        "123456789012345678901234567890",
        #"{"signedDate":1700000000000,"price":4990,"currency":"USD"}"#, "\"2026-11-20T14:40:00.123+02:00\"",
        #"["eyJhbGciOiJFUzI1NiJ9","AQID","00ff"]"#, "  \t\r\n\"\u{2028}é\u{1F600}\"  ", "1e400", "-",
        "{\"a\":1,\"a\":2}",
    ].map { Array($0.utf8) }
}

#if FUZZING
    @_cdecl("LLVMFuzzerInitialize")
#endif
public func initializeJSON(_ count: UnsafeMutableRawPointer?, _ arguments: UnsafeMutableRawPointer?) -> CInt {
    Fuzzing.plant(jsonSeeds())
    return 0
}
