import Foundation
import HTTPCore
import NetworkInterception
import Primitives
import Testing

/// Redaction removes secrets and nothing else.
@Suite struct RedactionTests {
    private static let jws = "eyJhbGciOiJFUzI1NiJ9.eyJ0cmFuc2FjdGlvbklkIjoiMSJ9.c2lnbmF0dXJlLXNpZ25hdHVyZQ"

    private func body(
        _ text: String, type: String = "application/json", by redaction: Redaction = .standard
    ) -> String {
        var record = Record(HTTPRequest(method: .post, url: "http://a/"))
        record.result = .success(Response(status: 200, headers: ["Content-Type": type], body: .text(text)))
        return String(decoding: redaction.redacted(record).response?.body.buffered ?? [], as: UTF8.self)
    }

    @Test(arguments: [
        (#"{"password":"hunter2"}"#, #"{"password":"[redacted]"}"#),
        (#"{"a":[{"Access-Token" : "x1" }]}"#, #"{"a":[{"Access-Token" : "[redacted]" }]}"#),
        (#"{"receipt-data":"AAAA","n":1.50,"z":0}"#, #"{"receipt-data":"[redacted]","n":1.50,"z":0}"#),
        (#"{"token":123,"next":1}"#, #"{"token":"[redacted]","next":1}"#),
        (#"{"token":null,"secret":true}"#, #"{"token":null,"secret":true}"#),
        (#"{"credentials":{"user":"a}","pass":["b"]},"k":1}"#, #"{"credentials":"[redacted]","k":1}"#),
        (#"{"signedTransactions":["a","b"]}"#, #"{"signedTransactions":"[redacted]"}"#),
        (#"{"receipt":{"bundle_id":"com.example"}}"#, #"{"receipt":{"bundle_id":"com.example"}}"#),
        (#"{"receipt":"AAAA"}"#, #"{"receipt":"[redacted]"}"#),
        (#"{"pass\u0077ord":"a\"b\\","k":"v"}"#, #"{"pass\u0077ord":"[redacted]","k":"v"}"#),
        (#"{"inner":"{\"password\":\"a\\\"b\",\"k\":1}"}"#, #"{"inner":"{\"password\":\"[redacted]\",\"k\":1}"}"#),
        (#"{"inner":"{\"token\":[1]}"}"#, #"{"inner":"{\"token\":\"[redacted]\"}"}"#),
        (#"{"a":"password","b":"token"}"#, #"{"a":"password","b":"token"}"#),
        (
            "{\"url\":\"https://u:p@h/x?token=t1&page=2#access_token=t2\"}",
            "{\"url\":\"https://redacted@h/x?token=%5Bredacted%5D&page=2#access_token=%5Bredacted%5D\"}"
        ),
        (
            #"{"url":"https:\/\/u:p@h\/?a=1\u0026sig=s"}"#,
            #"{"url":"https:\/\/redacted@h\/?a=1\u0026sig=%5Bredacted%5D"}"#
        ),
        ("data: {\"token\":\"t\"}\n\ndata: {\"id\":7}\n", "data: {\"token\":\"[redacted]\"}\n\ndata: {\"id\":7}\n"),
    ])
    func `JSON members with the names of secrets lose their values at any depth`(before: String, after: String) {
        #expect(body(before) == after)
        #expect(body(after) == after, "a second redaction changes nothing")
    }

    @Test(arguments: [
        (#"{"password":"hunt"#, #"{"password":"[redacted]"#),
        (#"{"a":1,"receipt-data":"MIIT"#, #"{"a":1,"receipt-data":"[redacted]"#),
        (#"{"token":{"a":"b","c"#, #"{"token":"[redacted]""#),
        (#"{"token":"#, #"{"token":"#),
        (#"{"a":1,,"password":"x"}"#, #"{"a":1,,"password":"[redacted]"}"#),
        (#"5" disk: {"password":"x"}"#, #"5" disk: {"password":"[redacted]"}"#),
        ("see https://anna:secr", "see https://redacted"),
        ("see https://host:8080", "see https://host:8080"),
    ])
    func `a body that was cut, or is not JSON, shows no secret`(before: String, after: String) {
        #expect(body(before) == after)
    }

    @Test(arguments: [
        ("see 'https://h/?token=a', then", "see 'https://h/?token=%5Bredacted%5D', then"),
        ("'https://h/?token=it's'+x", "'https://h/?token=%5Bredacted%5D'+x"),
        ("\"GET /x;jsessionid=a HTTP/1.1\" 200", "\"GET /x;jsessionid=%5Bredacted%5D HTTP/1.1\" 200"),
        ("/p?x=1;a=2;token=b and more", "/p?x=1;a=2;token=%5Bredacted%5D and more"),
        ("failed, password=a for anna (x)", "failed, password=[redacted] for anna (x)"),
        ("failed, password: a for anna (x)", "failed, password: [redacted] for anna (x)"),
        ("Login(password=a b, x=1) and c", "Login(password=[redacted], x=1) and c"),
        ("{password: a b, user: x}, c", "{password: [redacted], user: x}, c"),
        ("password: a\n  b\n c: d\n", "password: [redacted]\n c: d\n"),
        ("token: 'a\n  b' # c\nd: 'e'\n", "token: '[redacted]' # c\nd: 'e'\n"),
        ("it: 1\ntoken: 'a\nd: 'e'\n", "it: 1\ntoken: '[redacted]\nd: 'e'\n"),
        ("secrets:\n  a: b\n  c: true\n  d:\n    e: f\ng: h\n", "secrets:\n  [redacted]\ng: h\n"),
        ("A=a;Password=b c;D=d", "A=a;Password=%5Bredacted%5D;D=d"),
    ])
    func `text after the end of a value is unchanged`(before: String, after: String) {
        #expect(body(before, type: "text/plain") == after)
        #expect(body(after, type: "text/plain") == after, "a second redaction changes nothing")
    }

    @Test(arguments: [
        ("password=it's \"a\"\n", "password=%5Bredacted%5D\n"), ("password==a&b=c d", "password=%5Bredacted%5D&b=c d"),
        ("{\"a\":\"https://h/?token=b\",\"c\":2}", "{\"a\":\"https://h/?token=%5Bredacted%5D\",\"c\":2}"),
        ("a={\"b\":\"https://h/?token=c\",\"d\":2}&e=f", "a={\"b\":\"https://h/?token=%5Bredacted%5D\",\"d\":2}&e=f"),
        ("see https://h/?token=b now", "see https://h/?token=%5Bredacted%5D now"),
    ])
    func `only a body that begins with a form item is redacted as a form`(before: String, after: String) {
        #expect(body(before, type: "application/x-www-form-urlencoded") == after)
        #expect(body(after, type: "application/x-www-form-urlencoded") == after, "a second redaction changes nothing")
    }

    @Test func `signed texts, receipts and private keys are found without a name`() {
        let receipt = "MIIUVQYJKoZIhvcNAQcCoIIURjCCFEICAQExDzANBglghkgBZQMEAgEFADCCA4s\\/A=="
        let key = "-----BEGIN PRIVATE KEY-----\nMIGTAgEAMBMG\n-----END PRIVATE KEY-----"
        #expect(body("{\"data\":\"\(Self.jws)\",\"n\":1}") == #"{"data":"[redacted]","n":1}"#)
        #expect(body("{\"data\":\"\(Self.jws.prefix(30))") == #"{"data":"[redacted]"#)
        #expect(body("{\"data\":\"\(receipt)\"}") == #"{"data":"[redacted]"}"#)
        #expect(body(key, type: "text/plain") == "-----BEGIN PRIVATE KEY-----[redacted]-----END PRIVATE KEY-----")
        #expect(body("Bearer \(Self.jws)", type: "text/plain") == "Bearer [redacted]")
        #expect(body("keyJ and MIT, eyJ", type: "text/plain") == "keyJ and MIT, eyJ")
        var record = Record(HTTPRequest(method: .post, url: "http://a/"))
        record.originalRequest.body = .bytes(
            [0x30, 0x82, 0x10, 0x00, 0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x02, 1, 2, 3])
        #expect(Redaction.standard.redacted(record).originalRequest.body.buffered == Array("[redacted]".utf8))
    }

    @Test func `forms and the parts of multipart bodies lose their secrets`() {
        let form = "application/x-www-form-urlencoded"
        #expect(
            body("password=p%26q&page=1&apiKey=k", type: form) == "password=%5Bredacted%5D&page=1&apiKey=%5Bredacted%5D"
        )
        #expect(body("pass%77ord=p&n=a+b", type: form) == "pass%77ord=%5Bredacted%5D&n=a+b")
        let undeclared = Redaction.standard.redacted(
            Record(HTTPRequest(method: .post, url: "http://h/", body: .text("password=p&n=a+b"))))
        #expect(undeclared.designatedRequest.body.buffered == Array("password=%5Bredacted%5D&n=a+b".utf8))
        #expect(body("n=a password=p", type: "text/plain") == "n=a password=[redacted]", "a setting in a text")
        let nested = "next=https%3A%2F%2Fh%2F%3Ftoken%3Dabc%26a%3D1"
        #expect(body(nested, type: form) == "next=https%3A%2F%2Fh%2F%3Ftoken%3D%255Bredacted%255D%26a%3D1")
        let slashes = "next=/a%2Fb/c?%7e%3Fpage=/%7Eb/%3Ftoken%3Dabc%26a=1+2/3"
        #expect(body(slashes, type: form) == slashes.replacing("abc", with: "%255Bredacted%255D"))
        let parts =
            "--b\r\nContent-Disposition: form-data; name=\"password\"\r\n\r\nhunter2\r\n--b\r\n"
            + "Content-Disposition: form-data; name=\"receipt\"; filename=\"r\"\r\nContent-Type: a/b\r\n\r\nhunter2\r\n--b\r\n"
            + "Content-Disposition: form-data; name=\"note\"\r\n\r\nhello\r\n--b--\r\n"
        #expect(
            body(parts, type: "multipart/form-data; boundary=b")
                == parts.replacingOccurrences(of: "hunter2", with: "[redacted]"))
    }

    @Test func `secrets are removed from URLs and headers, and names and order stay`() {
        var record = Record(
            HTTPRequest(
                method: .get, url: "https://anna:pw@example.com/v1/x?API_key=k1&q=a%20b&code=c1",
                headers: ["accept": "*/*", "AUTHORIZATION": "Bearer b1", "Referer": "https://h/?token=r1"]))
        record.result = .success(
            Response(status: 302, headers: ["Location": "/next?access_token=l1#id_token=l2", "Set-Cookie": "a=1"]))
        let redacted = Redaction.standard.redacted(record)
        #expect(
            redacted.designatedRequest.url
                == "https://redacted@example.com/v1/x?API_key=%5Bredacted%5D&q=a%20b&code=%5Bredacted%5D")
        #expect(
            redacted.originalRequest.headers == [
                "accept": "*/*", "AUTHORIZATION": "[redacted]", "Referer": "https://h/?token=%5Bredacted%5D",
            ])
        #expect(
            redacted.response?.headers == [
                "Location": "/next?access_token=%5Bredacted%5D#id_token=%5Bredacted%5D", "Set-Cookie": "[redacted]",
            ])
    }

    @Test func `pointers name secrets, also in a cut body`() {
        let redaction = Redaction.standard.adding(pointers: ["/card/number", "/list/1", "/a~1b"])
        #expect(
            body(#"{"card":{"kind":"1","number":"4111"},"list":[1,{"x":[2]},3],"a/b":7}"#, by: redaction)
                == #"{"card":{"kind":"1","number":"[redacted]"},"list":[1,"[redacted]",3],"a/b":"[redacted]"}"#)
        #expect(body(#"{"card":{"number":"41"#, by: redaction) == #"{"card":{"number":"[redacted]""#)
        #expect(body(#"{"number":"4111"}"#, by: redaction) == #"{"number":"4111"}"#)
    }

    @Test func `encoded bodies are kept only if this is enabled`() {
        var record = Record(HTTPRequest(method: .get, url: "http://a/"))
        record.result = .success(Response(status: 200, headers: ["content-encoding": "gzip"], body: .bytes([31, 139])))
        #expect(Redaction.standard.redacted(record).response?.body.buffered == Array("[redacted]".utf8))
        #expect(Redaction.standard.keepingEncodedBodies().redacted(record).response?.body.buffered == [31, 139])
        #expect(Redaction.none.redacted(record).response?.body.buffered == [31, 139])
    }

    @Test func `an error keeps its kind, and its texts lose their secrets`() throws {
        var record = Record(HTTPRequest(method: .get, url: "http://a/"))
        record.result = .failure(HTTPError(.connectionFailed, "http://u:p@h/?token=t1 cannot be reached"))
        let failure = Redaction.standard.redacted(record).failure
        #expect((failure as? HTTPError)?.code == .connectionFailed)
        #expect((failure as? HTTPError)?.reason == "http://redacted@h/?token=%5Bredacted%5D cannot be reached")
        record.result = .failure(
            URLError(.timedOut, userInfo: ["NSErrorFailingURLStringKey": "http://h/?token=planted"]))
        let other = try #require(Redaction.standard.redacted(record).failure as? RecordedFailure)
        #expect(other.kind == "URLError" && other.code == "-1001" && !other.reason.contains("planted"))
        record.result = .failure(URLError(.timedOut))
        #expect(Redaction.standard.redacted(record).failure is URLError)
    }

    @Test func `a record without a secret is unchanged`() {
        let text = "{ \"b\": 1.0e2, \"a\": [1, 2,3], \"s\": \"key = value & more?\", \"tokens\": 3 }"
        #expect(body(text) == text)
        #expect(body("eyJ", type: "image/png") == "eyJ")
        #expect(body(#"{"password":"x"}"#, by: .none) == #"{"password":"x"}"#)
    }

    @Test func `a modifier runs before anything is stored`() async throws {
        var configuration = Interceptor.Configuration.standard
        configuration.preStorageRecordModifier = { record in
            var record = record
            record.originalRequest.url = "****"
            return record
        }
        let interceptor = Interceptor([], configuration: configuration)
        interceptor.run()
        let network = InProcessTransport(AnyHTTPHandler { .ready(HTTPResponse(status: 200, body: .text($0.url))) })
        let answer = try await interceptor.transport(wrapping: network).send(
            HTTPRequest(method: .get, url: "http://a/x"))
        #expect(answer.body.buffered == Array("/x".utf8), "the traffic is not touched")
        #expect(await interceptor.storage.records(1, after: nil).first?.originalRequest.url == "****")
    }
}
