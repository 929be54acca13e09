import BaseTestSupport
import Foundation
import PluginHub
import Testing

@Suite struct MessageTests {
    @Test func `a switch over a message looks at its name, and at its id only if the pattern has one`() throws {
        func isRefresh(_ message: Message) -> Bool {
            switch message {
            case "info.refresh": true
            default: false
            }
        }
        #expect(isRefresh("info.refresh"))
        #expect(isRefresh(try Message("info.refresh", id: .unique())))
        #expect(!isRefresh(try Message("info.get", id: "abc")))
        let pattern = try Message("info.refresh", id: "abc")
        #expect(pattern ~= (try Message("info.refresh", id: "abc")))
        #expect(!(pattern ~= (try Message("info.refresh", id: "def"))))
        #expect(!(pattern ~= "info.refresh"))
    }

    @Test(arguments: ["", "a\nb", "a\u{7F}", "a\u{85}", "\u{0}", String(repeating: "é", count: 128)])
    func `names that are empty, too long or have control characters are refused`(name: String) {
        #expect(throws: PluginError(.invalidName, "")) { _ = try Message(name) }
        #expect(throws: PluginError(.invalidName, "")) { _ = try MessageID(name) }
    }

    @Test(arguments: UnicodeForms.pairs)
    func `a name in another Unicode form than NFC is refused`(pair: UnicodeForms) throws {
        #expect(try Message(pair.composed).name == pair.composed)
        for make: (String) throws -> Void in [{ _ = try Message($0) }, { _ = try MessageID($0) }] {
            do {
                try make(pair.other)
                Issue.record("the name was accepted")
            } catch let error as PluginError {
                #expect(error.code == .invalidName && error.sentence.contains("NFC"))
            }
        }
        let json: JSONValue = ["name": "a", "id": .string(pair.other)]
        #expect(throws: (any Error).self) { try json.decode(Message.self) }
    }

    @Test(arguments: ["a", "store.purchase", "ein Name", "名前", String(repeating: "a", count: 255)])
    func `valid names are accepted`(name: String) throws {
        #expect(try Message(name).name == name)
        #expect(try MessageID(name).text == name)
    }

    @Test func `messages are decoded as they were encoded, and invalid ones are refused`() throws {
        let message = try Message("a.b", id: "x")
        let data = try JSONEncoder().encode([message, "c"])
        #expect(try JSONDecoder().decode([Message].self, from: data) == [message, "c"])
        let value = try JSONDecoder().decode(JSONValue.self, from: JSONEncoder().encode(message))
        #expect(value == ["name": "a.b", "id": "x"])
        for text in [#"{"name":""}"#, #"{"name":"a","id":""}"#, #"{"id":"a"}"#] {
            #expect(throws: (any Error).self) { _ = try JSONDecoder().decode(Message.self, from: Data(text.utf8)) }
        }
    }

    @Test func `an id is 128 bits of the generator in hexadecimal, and ids differ`() {
        struct Fixed: RandomNumberGenerator {
            var state: UInt64 = 0
            mutating func next() -> UInt64 {
                state += 1
                return state
            }
        }
        var generator = Fixed()
        #expect(MessageID.unique(using: &generator) == "00000000000000010000000000000002")
        #expect(Set((0..<1000).map { _ in MessageID.unique() }).count == 1000)
    }

    @Test func `a message can be given another id, and describes itself`() {
        let message: Message = "a.b"
        #expect(message.with(id: "x").id == "x")
        #expect(message.with(id: "x").with(id: nil) == message)
        #expect("\(message) \(message.with(id: "x"))" == "a.b a.b#x")
    }

    // MARK: - Payloads

    private struct Offer: Decodable, Equatable {
        let id: String
        let price: Decimal
    }

    private let payload: JSONObject = [
        "text": "a", "int": 3, "double": 1.5, "flag": true, "null": nil, "list": [1, 2],
        "offer": ["id": "x", "price": 4.99],
    ]

    @Test func `fields are decoded as the requested type`() throws {
        #expect(try payload.require("text", as: String.self) == "a")
        #expect(try payload.require("int", as: Int.self) == 3)
        #expect(try payload.require("int", as: UInt8.self) == 3)
        #expect(try payload.require("double", as: Double.self) == 1.5)
        #expect(try payload.require("flag", as: Bool.self))
        #expect(try payload.require("list", as: [Int].self) == [1, 2])
        #expect(try payload.require("offer", as: Offer.self) == Offer(id: "x", price: Decimal(string: "4.99")!))
        #expect(try payload.require("offer", as: JSONValue.self)["id"] == "x")
        #expect(try payload.require("null", as: JSONValue.self) == .null)
        let optional: JSONObject? = payload
        #expect(try optional.require("int", as: Int.self) == 3)
    }

    @Test func `an absent or null field is missing`() {
        for field in ["absent", "null"] {
            let error = #expect(throws: PluginError.self) { _ = try payload.require(field, as: String.self) }
            #expect(error?.code == .missingField)
            #expect(error?.sentence.contains("\"\(field)\"") == true)
        }
        let none: JSONObject? = nil
        #expect(throws: PluginError(.missingField, "")) { _ = try none.require("text", as: String.self) }
    }

    @Test func `a field of another type is invalid, and its value is not in the error`() {
        let secret: JSONObject = ["key": "s3cret", "offer": ["id": 1]]
        let error = #expect(throws: PluginError.self) { _ = try secret.require("key", as: Int.self) }
        #expect(error?.code == .invalidField)
        #expect(error.map { "\($0) \($0.localizedDescription)".contains("s3cret") } == false)
        #expect(throws: PluginError(.invalidField, "")) { _ = try secret.require("offer", as: Offer.self) }
        #expect(throws: PluginError(.invalidField, "")) { _ = try payload.require("double", as: Int.self) }
        #expect(throws: PluginError(.invalidField, "")) { _ = try payload.require("int", as: String.self) }
        #expect(throws: PluginError(.invalidField, "")) { _ = try payload.require("int", as: Bool.self) }
    }

    @Test func `an output is its payload or its error`() throws {
        struct Own: Error {}
        #expect(try EventOutput.success(["a": 1], correlationId: "x").payload() == ["a": 1])
        #expect(throws: Own.self) { _ = try EventOutput.failure(Own()).payload() }
        #expect(EventOutput(result: .success([:])).correlationId == nil)
    }
}
