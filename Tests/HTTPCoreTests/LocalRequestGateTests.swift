import HTTPCore
import Testing

/// The requests that a web page of another site cannot send to a server on this machine.
@Suite struct LocalRequestGateTests {
    private func code(
        _ gate: LocalRequestGate, _ headers: HTTPHeaders, by method: HTTPRequest.Method = .get
    ) -> String? {
        gate.refusal(of: HTTPRequest(method: method, url: "/", headers: headers))?.code
    }

    @Test(
        arguments: [
            ("localhost", true), ("localhost:8080", true), ("LOCALHOST:1", true), ("127.0.0.1", true),
            ("127.0.0.1:65535", true), ("[::1]", true), ("[::1]:80", true), ("localhost:", true),
            ("evil.example", false), ("localhost.evil.example", false), ("127.0.0.1.evil.example:8080", false),
            ("evil.example:127.0.0.1", false), ("localhost:80@evil.example", false), ("192.168.1.2", false),
            ("[::2]", false), ("[::1", false), ("[::1]x", false), ("0.0.0.0", false), ("", false),
            ("x localhost", false),
            ("ci.example", false), ("localhost,evil.example", false), ("127.1", false),
        ])
    func `a server on loopback accepts the names of loopback and no others`(host: String, isKnown: Bool) {
        #expect(code(LocalRequestGate(), ["Host": host]) == (isKnown ? nil : "foreign_host"))
    }

    @Test func `a request without a host is allowed, because it cannot come from a browser`() {
        #expect(code(LocalRequestGate(), [:]) == nil)
    }

    @Test func `a target that names another host is refused, whatever the header says`() {
        for (target, isKnown) in [
            ("http://localhost/", true), ("HTTP://127.0.0.1:80/x?u=http://evil.example/", true),
            ("/x?u=http://evil.example/", true), ("http://evil.example/", false),
            ("http://localhost@evil.example/", false),
            ("http://evil.example:80?x", false),
        ] {
            for headers in [["Host": "localhost"], [:]] as [HTTPHeaders] {
                let request = HTTPRequest(method: .get, url: target, headers: headers)
                #expect(LocalRequestGate().refusal(of: request)?.code == (isKnown ? nil : "foreign_host"), "\(target)")
            }
        }
    }

    @Test func `a server accepts the address that it is bound to`() {
        let gate = LocalRequestGate(boundTo: "192.168.1.2")
        #expect(code(gate, ["Host": "192.168.1.2:8080"]) == nil)
        #expect(code(gate, ["Host": "localhost"]) == nil)
        #expect(code(gate, ["Host": "192.168.1.3"]) == "foreign_host")
        let six = LocalRequestGate(boundTo: "fd00::1")
        #expect(code(six, ["Host": "[FD00::1]:80"]) == nil)
        #expect(code(six, ["Host": "fd00::1"]) == "foreign_host")
    }

    @Test(arguments: ["0.0.0.0", "::"])
    func `a server on all addresses accepts every address and localhost, and no other host name`(address: String) {
        let gate = LocalRequestGate(boundTo: address)
        for host in ["10.0.0.7:8080", "[fd00::1]:80", "localhost", "127.0.0.1"] {
            #expect(code(gate, ["Host": host]) == nil, "\(host)")
        }
        for host in ["evil.example", "10.0.0.evil", "10.0.0.256", "10.0.0", "1.2.3.4.5"] {
            #expect(code(gate, ["Host": host]) == "foreign_host", "\(host)")
        }
    }

    @Test func `an operator may allow further names`() {
        let gate = LocalRequestGate(hostNames: ["CI.example", "fd00::7"])
        #expect(code(gate, ["Host": "ci.example:8081"]) == nil)
        #expect(code(gate, ["Host": "[fd00::7]"]) == nil)
        #expect(code(gate, ["Host": "other.example"]) == "foreign_host")
        #expect(code(gate, ["Host": "ci.example:1", "Origin": "http://ci.example:1"], by: .post) == nil)
        #expect(code(gate, ["Host": "ci.example:1", "Origin": "http://ci.example:2"], by: .post) == "foreign_site")
    }

    @Test(
        arguments: [
            ("ci.example", true), ("simulator", true), ("a_b-c.example", true), ("10.0.0.1", true), ("fd00::1", true),
            ("[fd00::1]", true), ("", false), ("http://ci.example", false), ("ci.example:80", false),
            ("ci.example/", false), ("a b", false), ("ä.example", false), ("*.example", false), ("[::1]:80", false),
        ])
    func `a host name is a name or an address without scheme, port and path`(text: String, isOne: Bool) {
        #expect(LocalRequestGate.isHostName(text) == isOne)
    }

    @Test(
        arguments: [
            (.post, [:], nil), (.post, ["Origin": "http://127.0.0.1:8080"], nil),
            (.post, ["Origin": "http://127.0.0.1:3000"], "foreign_site"),
            (.post, ["Origin": "http://localhost:8080"], "foreign_site"),
            (.post, ["Origin": "https://evil.example"], "foreign_site"), (.post, ["Origin": "null"], "foreign_site"),
            (.get, ["Origin": "https://evil.example"], "foreign_site"),
            (.options, ["Origin": "https://evil.example"], "foreign_site"),
            (.post, ["Origin": "null", "Sec-Fetch-Site": "same-origin"], nil),
            (.post, ["Sec-Fetch-Site": "cross-site"], "foreign_site"),
            (.get, ["Sec-Fetch-Site": "cross-site"], "foreign_site"),
            (.get, ["Sec-Fetch-Site": "same-site"], "foreign_site"), (.get, ["Sec-Fetch-Site": "none"], nil),
            (.get, ["Sec-Fetch-Site": "same-origin"], nil),
            (.get, ["Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"], nil),
            (
                .get, ["Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"],
                "foreign_site"
            ),
            (
                .get, ["Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"],
                "foreign_site"
            ),
            (.post, ["Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"], "foreign_site"),
        ] as [(HTTPRequest.Method, HTTPHeaders, String?)])
    func `a page of another site may only link to the server, whose own pages may send requests`(
        method: HTTPRequest.Method, headers: HTTPHeaders, refusal: String?
    ) {
        var headers = headers
        headers["Host"] = "127.0.0.1:8080"
        #expect(code(LocalRequestGate(), headers, by: method) == refusal)
        #expect(code(.anyHost, headers, by: method) == refusal)
    }

    @Test func `a form without an origin needs the secret of its page`() {
        let form = HTTPRequest(method: .post, url: "/", headers: ["Host": "localhost", "Origin": "null"])
        #expect(LocalRequestGate().refusal(of: form)?.code == "foreign_site")
        #expect(LocalRequestGate().refusal(of: form, isProven: true) == nil)
        var foreign = form
        foreign.headers["Sec-Fetch-Site"] = "cross-site"
        #expect(LocalRequestGate().refusal(of: foreign, isProven: true)?.code == "foreign_site")
    }

    @Test func `a gate for any host accepts every host name, but no other site`() {
        #expect(code(.anyHost, ["Host": "evil.example"]) == nil)
        #expect(code(.anyHost, ["Host": "evil.example", "Origin": "http://other.example"]) == "foreign_site")
    }

    @Test func `a refused request never reaches the handler, and the check of its site can be turned off`() async throws
    {
        let handler = LocalRequestGate().guarding(AnyHTTPHandler { _ in .ready(HTTPResponse(status: 204)) })
        func status(_ host: String) async -> Int {
            await handler.respond(to: HTTPRequest(method: .get, url: "/", headers: ["Host": host])).response().status
        }
        #expect(await status("localhost") == 204)
        #expect(await status("evil.example") == 403)
        let proxy = LocalRequestGate().guarding(
            AnyHTTPHandler { _ in .ready(HTTPResponse(status: 204)) }, checksSite: false)
        for (host, expected) in [("localhost", 204), ("evil.example", 403)] {
            let request = HTTPRequest(
                method: .post, url: "/", headers: ["Host": host, "Origin": "http://other.example"])
            #expect(await proxy.respond(to: request).response().status == expected)
        }
    }

    @Test(
        arguments: [
            ("application/json", nil), ("application/json; charset=utf-8", nil), ("APPLICATION/JSON", nil),
            ("application/json ;charset=utf-8", nil), ("text/plain", 415), ("application/x-www-form-urlencoded", 415),
            ("multipart/form-data; boundary=x", 415), ("text/plain; application/json", 415), ("", 415), (nil, 415),
            ("application/jsonx", 415), ("application/json, text/plain", 415),
        ] as [(String?, Int?)])
    func `a body for a JSON endpoint must be declared as JSON`(type: String?, status: Int?) {
        var request = HTTPRequest(method: .post, url: "/", body: .text("{}"))
        request.headers["Content-Type"] = type
        let problem = request.refusalOfMediaType
        #expect(problem?.status == status)
        request.body = .empty
        #expect(request.refusalOfMediaType == nil)
    }
}
