import HTTPCore
import PluginHub
import Primitives
import WebPages

/// The requests that read and change the interceptor and its florets.
extension InspectorPage {
    /// The response to `GET api/state`: whether the interceptor runs, its florets and its reports.
    var state: JSONValue {
        [
            "isRunning": .bool(interceptor.isRunning), "canSend": .bool(configuration.transport != nil),
            "hasTrace": .bool(feed.isTracing),
            "florets": .array(interceptor.florets.enumerated().map { json($1, number: $0) }),
            "reports": .array(
                interceptor.reports.reversed().map { report in
                    ["floret": .string(report.floret), "message": .string(report.message)]
                }),
        ]
    }

    private func json(_ floret: any Floret, number: Int) -> JSONValue {
        let row = FloretRow(floret, in: interceptor)
        var json: JSONValue = ["number": .number(number), "name": .string(row.name)]
        json["summary"] = row.summary.map { .string($0) }
        json["isEnabled"] = row.isEnabled.map { .bool($0) }
        json["hasSettings"] = .bool(row.hasDocument)
        return json
    }

    /// Starts or pauses the interceptor: `POST api/state` `{isRunning}`.
    func setState(_ request: HTTPRequest) async throws -> HTTPResponse {
        if try await Self.flag("isRunning", in: request) { interceptor.run() } else { interceptor.pause() }
        feed.note(.state)
        return HTTPResponse(json: state)
    }

    /// Enables or disables a floret for new requests: `POST api/florets/{number}` `{isEnabled}`.
    func toggle(_ request: HTTPRequest, _ path: PathParameters) async throws -> HTTPResponse {
        guard let floret = try floret(path) as? any InterceptableFloret else {
            throw HTTPProblem(
                status: 409, code: "not_switchable", title: "Not switchable",
                detail: "This floret does not handle requests, so it cannot be enabled or disabled.")
        }
        floret.enabled = try await Self.flag("isEnabled", in: request)
        feed.note(.state)
        return HTTPResponse(json: state)
    }

    /// The floret that can replay records.
    var mock: MockFloret? { interceptor.florets.lazy.compactMap { $0 as? MockFloret }.first }

    /// Makes the mock floret answer similar requests with the response of a record: `POST api/records/{id}/mock`.
    /// Returns `{floret, isEnabled}`.
    func mockRecord(_ path: PathParameters) async throws -> HTTPResponse {
        let record = try await record(path)
        guard let mock else {
            throw HTTPProblem(
                status: 409, code: "no_mock", title: "No mock", detail: "This interceptor has no MockFloret.")
        }
        do {
            try mock.replay(record)
        } catch let error as InterceptionError {
            throw HTTPProblem(status: 409, code: error.code.rawValue, title: "Not mocked", detail: error.reason)
        }
        return HTTPResponse(json: ["floret": .string(mock.name), "isEnabled": .bool(mock.enabled)])
    }

    private static func flag(_ field: String, in request: HTTPRequest) async throws -> Bool {
        guard let flag = (try? await request.body.json(upTo: 1024))?[field]?.boolValue else {
            throw HTTPProblem.invalid(field, "\(field) must be true or false.")
        }
        return flag
    }

    private func floret(_ path: PathParameters) throws -> any Floret {
        guard let number = Int(path["number"]), interceptor.florets.indices.contains(number) else {
            throw HTTPProblem(
                status: 404, code: "unknown_floret", title: "Unknown floret", detail: "There is no such floret.")
        }
        return interceptor.florets[number]
    }
}

/// The screens of florets, as HTML forms.
extension InspectorPage {
    private static let formLimit = 1 << 20

    /// Returns the page with a floret's form: `GET florets/{number}`.
    func settings(_ path: PathParameters) throws -> HTTPResponse { HTTPResponse(page: try form(path).form.page) }

    /// Performs the action of a posted form: `POST florets/{number}`.
    func perform(_ request: HTTPRequest, _ path: PathParameters) async throws -> HTTPResponse {
        guard try Self.query(of: request)["proof"] == proof else {
            throw HTTPProblem(
                status: 403, code: "foreign_form", title: "Foreign form",
                detail: "The form is not from the current screen. Load the screen again and repeat the change.")
        }
        let (floret, form) = try form(path)
        let text = String(decoding: try await request.body.collect(upTo: Self.formLimit), as: UTF8.self)
        do {
            guard let fields = HTTPQuery(parsing: text) else {
                throw HTTPProblem.invalid("body", "The body is not a form.")
            }
            try await floret.perform(form.action(posted: fields), in: interceptor)
        } catch let error as HTTPProblem {
            throw error
        } catch {
            return HTTPResponse(status: 422, page: Self.errorPage(FloretScreen.sentence(for: error)))
        }
        feed.note(.state)
        return HTTPResponse(status: 303, headers: ["Location": "\(configuration.path)/florets/\(path["number"])"])
    }

    private func form(_ path: PathParameters) throws -> (floret: any DisplayableFloret, form: ViewDocumentForm) {
        guard let floret = try floret(path) as? any DisplayableFloret, let document = floret.view(interceptor) else {
            throw HTTPProblem(status: 404, code: "no_screen", title: "No screen", detail: "This floret has no screen.")
        }
        let target = "\(configuration.path)/florets/\(path["number"])?proof=\(proof)"
        let back = (title: "All florets", target: "\(configuration.path)/#florets")
        return (floret, ViewDocumentForm(document, postingTo: target, back: back))
    }

    private static func errorPage(_ sentence: String) -> Page {
        Page(
            title: "Not changed",
            body: """
                <main class="page"><h1>Not changed</h1><p>\(sentence)</p><p><a href="">Back to the screen</a></p></main>
                """)
    }
}
