import CurlTransport
import Foundation
import HTTPCore
import NetworkInterception
import Primitives

/// `souk har replay`: sends recorded requests again and compares the responses.
enum HARReplay {
    static let command = Command(
        words: ["har", "replay"],
        summary: "Send recorded requests again, and compare the responses",
        operands: ["FILE"],
        options: [
            .init(name: "to", value: "URL", help: "the server that gets the requests instead of those in the file"),
            .init(
                name: "header", value: "'NAME: VALUE'", repeats: true,
                help: "a header for every request, such as a new token"),
            .init(name: "entry", value: "N", help: "only this entry, counted from 1"),
            .init(name: "only", value: "WORDS", help: "only matching entries, such as \"method:get status:200\""),
            .init(name: "timeout", value: "SECONDS", help: "the timeout of one request (30)"),
            .init(name: "json", help: "print one JSON value"),
        ],
        details: """
            Requests can change data on their server. So without --to, only requests to this machine (localhost,
            127.0.0.0/8, ::1) are sent, and a file with requests to other hosts is refused. Requests are sent one by one,
            without redacted values and without Accept-Encoding. The comparison covers the status, and the body if all of
            it is in the file. JSON is compared by its values. Exit 1 when an answer differs or is missing.
            Secrets in the file are sent, but not printed.
            """
    ) { arguments in
        let archive = try HARCommands.read(arguments.operands[0])
        let rows = try HARCommands.chosen(from: archive, arguments)
        let plan = try Plan(arguments)
        let requests = try rows.map { try plan.request(for: $0.record.designatedRequest, number: $0.number) }
        let transport = CurlTransport.platformDefault()
        var outcomes: [Outcome] = []
        var bar = ProgressBar("replaying", of: rows.count)
        for (row, request) in zip(rows, requests) {
            bar.show(outcomes.count, "\(outcomes.count) of \(rows.count)")
            outcomes.append(await Outcome(row, request, over: transport))
        }
        bar.end()
        return try print(outcomes, asJSON: arguments.has("json"))
    }

    private static func print(_ outcomes: [Outcome], asJSON: Bool) throws -> ExitStatus {
        let same = outcomes.count(where: \.isSame)
        if asJSON {
            try Terminal.print(json: [
                "ok": .bool(same == outcomes.count), "replayed": .number(outcomes.count), "same": .number(same),
                "entries": .array(outcomes.map(\.json)),
            ])
        } else {
            for outcome in outcomes { try Terminal.print(outcome.text) }
            try Terminal.print("\(same) of \(outcomes.count) answers are the same")
        }
        return same == outcomes.count ? .success : .failure
    }
}

extension HARReplay {
    /// The target of the requests, and their headers.
    struct Plan {
        private let origin: String?
        private let headers: [HTTPHeaders.Field]
        private let timeout: Duration

        init(_ arguments: Arguments) throws {
            origin = try arguments.text("to").map { text in
                let url = text.hasSuffix("/") ? String(text.dropLast()) : text
                guard url.hasPrefix("http://") || url.hasPrefix("https://"), let host = URL(string: url)?.host,
                    !host.isEmpty,
                    !url.contains("?"), !url.contains("#")
                else { throw UsageError("--to is a URL such as http://127.0.0.1:8080, not \(text.quoted)") }
                return url
            }
            headers = try arguments.texts("header").map { text in
                let parts = text.split(separator: ":", maxSplits: 1)
                guard parts.count == 2 else { throw UsageError("--header is written 'NAME: VALUE'") }
                return .init(name: String(parts[0]), value: parts[1].trimmingCharacters(in: .whitespaces))
            }
            guard (try? HTTPHeaders(headers).validate()) != nil else {
                throw UsageError("--header needs a name of letters, digits and hyphens, and a value in one line")
            }
            timeout = .seconds(try arguments.integer("timeout", in: 1...3600) ?? 30)
        }

        /// Returns the request to send for a recorded one. Throws `UsageError` for a request that must not go to its
        /// original host.
        func request(for recorded: HTTPRequest, number: Int) throws -> HTTPRequest {
            var request = recorded
            if let origin {
                request.url = origin + recorded.target
            } else if !Self.isLocal(recorded.url) {
                let host = URL(string: recorded.url)?.host.map { HARText.redaction.redacted($0) } ?? "somewhere else"
                throw UsageError(
                    "the request \(number) goes to \(host), not to this machine; name the server with --to URL")
            }
            let transportHeaders = [
                "Host", "Content-Length", "Connection", "Transfer-Encoding", "Accept-Encoding", "Expect",
            ]
            request.headers = HTTPHeaders(
                recorded.headers.fields.filter { field in
                    !Redaction.isRedacted(field.value)
                        && !transportHeaders.contains { $0.lowercased() == field.name.lowercased() }
                })
            for field in headers { request.headers[field.name] = field.value }
            request.timeout = timeout
            return request
        }

        private static func isLocal(_ url: String) -> Bool {
            guard let host = URL(string: url)?.host?.lowercased() else { return false }
            let numbers = host.split(separator: ".", omittingEmptySubsequences: false).map { UInt8($0) }
            return ["localhost", "::1", "[::1]"].contains(host)
                || numbers.count == 4 && numbers[0] == 127 && !numbers.contains(nil)
        }
    }

    /// The result of one request.
    struct Outcome {
        private static let answerLimit = 256 << 20

        private let row: HARCommands.Row
        private let url: String
        private let status: Int?
        private let differences: [String]

        var isSame: Bool { differences.isEmpty }

        init(_ row: HARCommands.Row, _ request: HTTPRequest, over transport: any HTTPTransport) async {
            self.row = row
            // Removes the secret segments of the path too.
            url = HARText.redaction.redacted(url: request.url).urlWithoutSecrets
            do {
                let response = try await transport.send(request)
                let body = try await response.body.collect(upTo: Self.answerLimit)
                status = response.status
                differences = Self.differences(row.record, response.status, body)
            } catch {
                status = nil
                let reason = (error as? HTTPError)?.reason ?? "\(error)"
                differences =
                    row.record.failure == nil
                    ? ["no answer: \(HARText.redaction.redacted(reason).withoutSecretsOfURLs)"] : []
            }
        }

        private static func differences(_ record: Record, _ status: Int, _ body: [UInt8]) -> [String] {
            guard let recorded = record.response else { return ["the status is \(status), there was no answer"] }
            var differences: [String] = []
            if recorded.status != status { differences.append("the status is \(status), it was \(recorded.status)") }
            let before = recorded.body.buffered ?? []
            let isWhole = record.bodies.response.map { !$0.isCut && $0.end == .complete } ?? true
            if isWhole, before != body, !isSameJSON(before, body) {
                differences.append("the body differs: \(body.count) bytes, there were \(before.count)")
            }
            return differences
        }

        private static func isSameJSON(_ left: [UInt8], _ right: [UInt8]) -> Bool {
            guard let one = try? JSONValue(parsing: left), let other = try? JSONValue(parsing: right) else {
                return false
            }
            return one == other
        }

        var text: TerminalText {
            let verdict = isSame ? Terminal.green("same") : Terminal.red("\(differences.joined(separator: "; "))")
            let request: TerminalText = "\(row.record.designatedRequest.method) \(url)"
            return "\(row.number)  \(request)  \(status.map(String.init) ?? "-")  \(verdict)"
        }

        var json: JSONValue {
            [
                "entry": .number(row.number), "method": .string(row.record.designatedRequest.method.rawValue),
                "url": .string(url), "status": status.map { .number($0) } ?? .null,
                "recordedStatus": row.record.response.map { .number($0.status) } ?? .null, "same": .bool(isSame),
                "differences": .array(differences.map(JSONValue.string)),
            ]
        }
    }
}
