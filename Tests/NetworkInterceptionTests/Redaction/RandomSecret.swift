import BaseTestSupport
import Foundation
import HTTPCore
import NetworkInterception

/// A random secret in a random document, with the place of the document in the traffic.
struct RandomSecret {
    /// The prefix of every value, so that a leak is found in files with many values.
    static let beginning = "Zq8xV3"

    let value: String
    let digits: String
    let planted: Planted

    /// An error text of a floret that contains the secret.
    var sentence: String {
        let text = planted.text(value, digits: digits)
        if case .header(let name) = planted.place { return "\(name): \(text)" }
        return text
    }

    init(with numbers: inout SeededNumbers) {
        value = Self.beginning + Self.characters(Int.random(in: 12...40, using: &numbers), with: &numbers)
        digits = "481516" + String(Int.random(in: 100_000...999_999, using: &numbers))
        var document = RandomDocument(numbers: numbers)
        planted = document.planted()
        numbers = document.numbers
    }

    /// Whether the secret, its beginning or its end is in a text.
    func isFound(in text: String) -> Bool {
        planted.template.contains("§") && (text.contains(value.prefix(14)) || text.contains(value.suffix(8)))
            || planted.template.contains("¤") && text.contains(digits)
    }

    private static func characters(_ count: Int, with numbers: inout SeededNumbers) -> String {
        let all = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
        return String((0..<count).map { _ in all.randomElement(using: &numbers)! })
    }
}

/// Creates documents in which `§` is a secret of letters and digits, and `¤` one of digits.
struct RandomDocument {
    var numbers: SeededNumbers
    private let escapesHTML: Bool

    init(numbers: SeededNumbers) {
        self.numbers = numbers
        escapesHTML = Bool.random(using: &self.numbers)
    }

    private mutating func one<T>(_ all: [T]) -> T { all.randomElement(using: &numbers)! }
    private mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &numbers) < percent }

    mutating func planted() -> Planted {
        switch Int.random(in: 0..<12, using: &numbers) {
        case 0: return Planted(place: .header(name("-")), template: "§")
        case 1: return Planted(place: .header(one(["X-Custom", "X-Info", "Via-Client"])), template: headerValue())
        case 2: return Planted(place: .url, template: url())
        case 3: return Planted(place: .error, template: line())
        case 4: return body("application/x-www-form-urlencoded", form())
        case 5: return body("application/xml", markup())
        case 6: return body(one(["application/yaml", ""]), yaml())
        case 7: return body("text/plain", (0..<3).map { _ in noise() }.joined(separator: "\n") + "\n" + line())
        case 8:
            let part = "--b\r\nContent-Disposition: form-data; name=\"\(name("_"))\"\r\n\r\n§\r\n--b--\r\n"
            return body("multipart/form-data; boundary=b", part)
        default: return body(one(["application/json", ""]), json(depth: Int.random(in: 0...3, using: &numbers)))
        }
    }

    private mutating func body(_ type: String, _ template: String) -> Planted {
        let encoding = chance(25) ? one(Planted.Encoding.allCases) : .utf8
        return Planted(place: .body(type, encoding), template: template)
    }

    // MARK: - Names

    /// A plausible name of a secret.
    private mutating func name(_ separator: String) -> String {
        let core = one([
            ["password"], ["token"], ["secret"], ["api", "key"], ["session", "id"], ["passwd"], ["access", "token"],
            ["client", "secret"], ["private", "key"], ["otp"], ["pwd"], ["passphrase"], ["credentials"],
            ["authorization"],
            ["refresh", "token"], ["signing", "key"], ["cvv"], ["jwt"],
        ])
        let words =
            (chance(50) ? [one(["user", "my", "old", "new", "db", "app", "client", "x", "current"])] : []) + core
        switch Int.random(in: 0..<4, using: &numbers) {
        case 0: return words[0] + words.dropFirst().map(\.capitalized).joined()
        case 1: return words.joined(separator: separator)
        case 2: return words.joined(separator: separator).uppercased()
        default: return words.map(\.capitalized).joined(separator: separator)
        }
    }

    private mutating func harmlessName() -> String {
        one(["id", "author", "passenger", "price", "createdAt", "title", "product_id", "tokenizer", "count", "etag"])
    }

    /// A character before a secret in quotation marks, or none.
    private mutating func precedingCharacter() -> String {
        one(["", "", "/", "+", " ", ")", "]", "}", ">", ":", ";", ","])
    }

    private mutating func noise() -> String {
        one([
            "the quick brown fox", "2026-11-22T12:00:00Z INFO started", "id 42, price 9.99", "a: b", "x=1&y=2",
            "<b>bold</b>",
            "\"quoted\" text", "50% of 16:9", "https://example.com/a?b=c#d", "it's fine", "[1, 2, 3]", "{}", "--",
            "a == b",
        ])
    }

    // MARK: - Texts

    /// A secret with a recognizable format.
    private mutating func shape() -> String {
        one([
            "Bearer §", "Bearer §=", "Basic §==", "Token §=", "ApiKey §==", "ghp_§", "xoxb-1234-§", "sk_live_§",
            "eyJhbGciOiJIUzI1NiJ9.§.§", "glpat-§", "https://anna:§@h/",
            "npm_§§", "-----BEGIN PRIVATE KEY-----\n§\n-----END PRIVATE KEY-----", "hvs.§", "shpat_§",
        ])
    }

    private mutating func headerValue() -> String {
        one([
            "Bearer §", "token=§", "a=1; session_id=§; b=2", "https://h/?\(name("_"))=§", "{\"\(name("_"))\":\"§\"}",
            "v=1, signature=§", "Basic §", "Bearer §=", "{\"x\": \"Bearer §==\"}", "%7B%22\(name("_"))%22%3A%22§%22%7D",
        ])
    }

    private mutating func line() -> String {
        let name = name("_")
        return one([
            "\(name)=§", "user=anna \(name)=§ done", "\(name): §", "Authorization: Bearer §",
            "login with \(name): § failed",
            "GET /x?a=1&\(name)=§&b=2", "{\"\(name)\":\"§\"}", "sent \(shape()) today",
            "curl -H 'X-Api-Key: §' https://h/",
            "tool --\(name.lowercased()) § --quiet", "\(name) = \"§\"", "{'\(name)': '§'}", "  \(name) : §  ",
            "<\(name)>§</\(name)>",
        ])
    }

    private mutating func url() -> String {
        let items = ["page=1", "sort=-price", "q=a%20b"].shuffled(using: &numbers)
        let secret = one([
            "\(name("_"))=§", "next=\(encoded("https://i/?\(name("_"))=§&a=1"))", "data=\(encoded(json(depth: 1)))",
            "code=§", "sig=§", "X-Amz-Signature=§", "auth=§",
        ])
        let all = (items.prefix(Int.random(in: 0...3, using: &numbers)) + [secret]).shuffled(using: &numbers)
        return one([
            "https://h.example/a/b?" + all.joined(separator: "&"), "https://anna:§@h.example/x", "https://§@h.example/",
            "https://h.example/cb#" + all.joined(separator: "&"),
            "https://h.example/r/" + encoded("https://i/?token=§"),
        ])
    }

    private mutating func form() -> String {
        let items = ["page=1", "user=anna", "note=a+b", "author=%C3%84nna"].shuffled(using: &numbers)
        let secret = one([
            "\(name("_"))=§", "\(name("_"))=it's§", "payload=\(encoded(json(depth: 1)))",
            "xml=\(encoded("<\(name("_"))>§</x>"))", "otp=¤",
        ])
        return (items.prefix(Int.random(in: 0...4, using: &numbers)) + [secret]).shuffled(using: &numbers)
            .joined(separator: "&")
    }

    private func encoded(_ text: String) -> String {
        PercentEncoding.encode(text).replacing("%C2%A7", with: "§").replacing("%C2%A4", with: "¤")
    }

    // MARK: - Documents

    /// A JSON object that contains the secret at this depth.
    private mutating func json(depth: Int) -> String {
        let blank = one(["", "", " ", "\n  "])
        var members = (0..<Int.random(in: 0...3, using: &numbers)).map { _ in
            "\(string(harmlessName())):\(blank)\(one(["1", "true", "null", "[1,2]", "9.990", string(noise())]))"
        }
        let secret: String
        if depth > 0 {
            let inner = json(depth: depth - 1)
            secret =
                "\(string(one(["data", "inner", "items", "user"]))):\(blank)\(one([inner, "[\(inner)]", string(inner)]))"
        } else {
            let value = one([
                string("§"), string("§"), string("§ with \"quotes\" and \\"), "[\(string("§"))]", string("§"),
            ])
            let name = name("_")
            let isList = value.hasPrefix("[")
            secret = one([
                "\(string(isList ? "credentials" : name)):\(blank)\(value)",
                "\(string("text")):\(blank)\(string(line()))",
                "\(string("x")):\(blank)\(string(shape()))", "\(string("xml")):\(blank)\(string(markup()))",
                "\(string("stack")):\(blank)\(string(yaml()))",
                "\(string("h")):\(blank)[{\"name\":\(string(name)),\"value\":\"§\"}]", "\"otp\":\(blank)¤",
            ])
        }
        members.insert(secret, at: Int.random(in: 0...members.count, using: &numbers))
        return "{\(blank)\(members.joined(separator: ",\(blank)"))\(blank == "\n  " ? "\n" : blank)}"
    }

    /// A JSON string.
    private func string(_ text: String) -> String {
        let escaped = text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
            .replacing("\r", with: "\\r")
        // The escapes of Go, Gson and .NET for HTML characters.
        guard escapesHTML else { return "\"\(escaped)\"" }
        let text = escaped.unicodeScalars.map {
            "<>=&'".unicodeScalars.contains($0) ? "\\u00" + String($0.value, radix: 16) : "\($0)"
        }
        return "\"\(text.joined())\""
    }

    private mutating func markup() -> String {
        let name = name("_")
        let secret = one([
            "<\(name)>§</\(name)>", "<\(name) a=\"b\">\n§\n</\(name)>",
            "<u a=\"b \" \(name)=\"\(precedingCharacter())§\"/>",
            "<n:\(name)><![CDATA[§]]></n:\(name)>",
            "<entry key=\"\(name)\">§</entry>", "<add key=\"\(name)\" value=\"§\"/>",
            "<key>\(name)</key><string>§</string>",
            "<x>\(shape())</x>", "<a href=\"https://h/?a=1&amp;\(name)=§\">x</a>",
        ])
        return "<r><id>42</id><author>Anna</author>\(secret)<b>1</b></r>"
    }

    private mutating func yaml() -> String {
        let name = name(one(["_", "-"]))
        let secret = one([
            "\(name): §", "\(name): '\(precedingCharacter())§'", "\(name): \"\(precedingCharacter())§\"",
            "\(name): a b\n  §", "\(name): # b\n  §",
            "\(name): |\n  §\n  more", "\(name): >-\n  §",
            "\(name):\n  §",
            "db:\n  port: 1\n  \(name): §", "- \(name): §", "env:\n  - name: \(name)\n    value: §",
            "x: {a: b, \(name): §}",
            "url: https://anna:§@h/", "\(name): § # a comment",
            "\(name):\n# b\n  §", "\(name): &a !!str >\n  §", "tokens:\n- a\n# b\n- §", "passwords: !!seq\n  - anna: §",
            "passwords:\n  a:\n  - b: §\n    c: d",
        ])
        return "id: 42\nauthor: anna\n\(secret)\nlast: 1\n"
    }
}
