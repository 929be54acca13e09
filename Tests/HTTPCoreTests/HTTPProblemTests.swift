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

    @Test func `what is not needed may be missing, and what is not known is passed over`() throws {
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
    func `an answer of another server is no problem of ours`(json: JSONValue) {
        #expect(parse(json) == nil)
    }

    @Test(arguments: ["", "<html>", "{", "\u{FEFF}{}"])
    func `an answer that is not JSON is none`(text: String) {
        #expect(HTTPProblem(parsing: Array(text.utf8)) == nil)
    }
}
