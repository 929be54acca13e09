import HTTPCore
import Primitives
import Testing

@Suite struct HTTPProblemTests {
    private func parse(_ json: JSONValue) -> HTTPProblem? { HTTPProblem(parsing: json.encoded()) }

    @Test(arguments: [nil, "items[0]"], [true, false])
    func `a problem is read as it was written`(field: String?, isRetryable: Bool) throws {
        let problem = HTTPProblem(
            status: 409, code: "conflict", title: "Conflict", detail: "Ask \"later\".", field: field,
            isRetryable: isRetryable)
        let read = try #require(HTTPProblem(parsing: problem.response.body.buffered ?? []))
        #expect(read.json == problem.json)
        #expect(read.isRetryable == isRetryable && read.field == field)
        #expect(problem.response.status == 409)
    }

    @Test func `optional members can be missing, and unknown members are ignored`() throws {
        let problem = try #require(parse(["status": 404, "code": "gone", "detail": "Gone.", "trace": [1, 2]]))
        #expect(problem.title == "gone")
        #expect(problem.field == nil && !problem.isRetryable)
    }

    @Test(
        arguments: [
            [:], ["status": 404, "code": "gone"], ["status": "404", "code": "gone", "detail": "Gone."],
            ["status": 404.5, "code": "gone", "detail": "Gone."], ["code": "gone", "detail": "Gone."],
            ["status": 404, "code": 1, "detail": "Gone."], [], "gone", nil,
        ] as [JSONValue])
    func `a response of another server is not a problem`(json: JSONValue) {
        #expect(parse(json) == nil)
    }

    @Test(arguments: ["", "<html>", "{", "\u{FEFF}{}"])
    func `a response that is not JSON is not a problem`(text: String) {
        #expect(HTTPProblem(parsing: Array(text.utf8)) == nil)
    }
}
