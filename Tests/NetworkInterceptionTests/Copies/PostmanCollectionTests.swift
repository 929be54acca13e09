import Foundation
import HTTPCore
import NetworkInterception
import Primitives
import Testing

@Suite struct PostmanCollectionTests {
    @Test func `a collection of format 2_1 has requests with their responses`() throws {
        var json = Record(
            HTTPRequest(
                method: .post, url: "https://api.example.com:8443/v1/a%20b/?q=1&flag&q=x%3D",
                headers: ["A": "1", "a": "2"],
                json: ["n": 1]))
        json.result = .success(Response(status: 201, headers: ["X": "y"], body: .text("ok")))
        let form = Record(
            HTTPRequest(
                method: .put, url: "http://[::1]:80/", headers: ["Content-Type": "application/x-www-form-urlencoded"],
                body: .text("a=1+2&b=")))
        let id = UUID()
        let bytes = PostmanCollection([json, form], name: "Two", id: id).encoded()
        let collection = try JSONValue(parsing: bytes)
        #expect(
            collection["info"] == [
                "_postman_id": .string(id.uuidString.lowercased()), "name": "Two",
                "schema": "https://schema.getpostman.com/json/collection/v2.1.0/collection.json",
            ])
        let first = collection["item"]?[0]
        #expect(first?["name"] == "POST /v1/a%20b/")
        #expect(
            first?["request"]?["url"] == [
                "raw": "https://api.example.com:8443/v1/a%20b/?q=1&flag&q=x%3D", "protocol": "https",
                "host": ["api", "example", "com"], "port": "8443", "path": ["v1", "a%20b", ""],
                "query": [
                    ["key": "q", "value": "1"], ["key": "flag", "value": nil], ["key": "q", "value": "x%3D"],
                ],
            ])
        #expect(
            first?["request"]?["header"] == [
                ["key": "A", "value": "1"], ["key": "a", "value": "2"],
                ["key": "Content-Type", "value": "application/json"],
            ])
        #expect(
            first?["request"]?["body"] == ["mode": "raw", "raw": "{\"n\":1}", "options": ["raw": ["language": "json"]]])
        #expect(first?["response"]?[0]?["code"] == 201 && first?["response"]?[0]?["body"] == "ok")
        let second = collection["item"]?[1]
        #expect(second?["request"]?["url"]?["host"] == ["[::1]"] && second?["request"]?["url"]?["port"] == "80")
        #expect(
            second?["request"]?["body"] == [
                "mode": "urlencoded", "urlencoded": [["key": "a", "value": "1 2"], ["key": "b", "value": ""]],
            ])
        #expect(second?["response"] == [])
    }

    @Test func `the colons of an IPv6 address are not read as a port`() {
        let record = Record(HTTPRequest(method: .get, url: "http://[2001:db8::1]/"))
        let url = PostmanCollection([record], name: "One").json["item"]?[0]?["request"]?["url"]
        #expect(url == ["raw": "http://[2001:db8::1]/", "protocol": "http", "host": ["[2001:db8::1]"], "path": [""]])
    }
}
