import Foundation
import HTTPCore
import Primitives

/// A record without its bodies, as JSON. A file of records stores the JSON and the bodies separately.
struct RecordHead {
    let json: JSONValue

    init(_ record: Record) {
        var members: JSONMembers = ["original": Self.json(record.originalRequest)]
        let designated = Self.json(record.designatedRequest)
        if designated != members["original"] { members["designated"] = designated }
        switch record.result {
        case .success(let response)?:
            members["response"] = ["status": .number(response.status), "headers": Self.json(response.headers)]
        case .failure(let error)?:
            let failure = RecordedFailure(error)
            members["failure"] = [
                "kind": .string(failure.kind), "code": .string(failure.code), "reason": .string(failure.reason),
            ]
        case nil: break
        }
        members["timing"] = .object(
            JSONMembers(
                [
                    ("started", record.timing.started), ("sent", record.timing.sent),
                    ("answered", record.timing.answered),
                    ("ended", record.timing.ended),
                ].compactMap { name, date in date.map { (name, .number($0.timeIntervalSinceReferenceDate)) } }))
        members["bodies"] = .object(
            JSONMembers(
                [
                    ("original", record.bodies.original), ("designated", record.bodies.designated),
                    ("response", record.bodies.response),
                ].compactMap { name, transfer in transfer.map { (name, Self.json($0)) } }))
        if !record.changes.isEmpty {
            members["changes"] = .array(
                record.changes.map { ["floret": .string($0.floret), "kind": .string($0.kind.rawValue)] })
        }
        if !record.signedTexts.isEmpty { members["signed"] = .array(record.signedTexts.map(\.json)) }
        json = .object(members)
    }

    init(parsing bytes: [UInt8]) throws {
        json = try JSONValue(parsing: bytes)
    }

    /// Returns the record with the given bodies. Without `designated`, the designated request has the body of the
    /// original request. Throws `InterceptionError` with `invalidFile` if a required member is missing.
    func record(_ id: UUID, original: [UInt8], designated: [UInt8]?, response: [UInt8]) throws -> Record {
        var record = Record(try Self.request(json["original"], original), id: id)
        if let designatedJSON = json["designated"] {
            record.designatedRequest = try Self.request(designatedJSON, designated ?? original)
        } else {
            record.designatedRequest.body = .bytes(designated ?? original)
        }
        if let answer = json["response"] {
            record.result = .success(
                Response(
                    status: try Self.required(answer["status"]?.intValue), headers: try Self.headers(answer["headers"]),
                    body: .bytes(response)))
        } else if let failure = json["failure"] {
            let kept = RecordedFailure(
                kind: failure["kind"]?.stringValue ?? "", code: failure["code"]?.stringValue ?? "",
                reason: try Self.required(failure["reason"]?.stringValue))
            record.result = .failure(kept.restored)
        }
        func date(_ name: String) -> Date? {
            json["timing"]?[name]?.doubleValue.map(Date.init(timeIntervalSinceReferenceDate:))
        }
        record.timing = .init(
            started: date("started"), sent: date("sent"), answered: date("answered"), ended: date("ended"))
        record.bodies = .init(
            original: Self.transfer(json["bodies"]?["original"]),
            designated: Self.transfer(json["bodies"]?["designated"]),
            response: Self.transfer(json["bodies"]?["response"]))
        record.changes = (json["changes"]?.arrayValue ?? []).compactMap { change in
            guard let floret = change["floret"]?.stringValue,
                let kind = change["kind"]?.stringValue.flatMap(Record.Change.Kind.init)
            else { return nil }
            return .init(floret: floret, kind: kind)
        }
        let signed = (json["signed"]?.arrayValue ?? []).compactMap(SignedText.init)
        if !signed.isEmpty { record.signedTexts = signed }
        return record
    }

    private static func json(_ request: HTTPRequest) -> JSONValue {
        var members: JSONMembers = [
            "method": .string(request.method.rawValue), "url": .string(request.url), "headers": json(request.headers),
        ]
        if let (seconds, attoseconds) = request.timeout?.components {
            members["timeout"] = [.number(seconds), .number(attoseconds)]
        }
        return .object(members)
    }

    private static func json(_ headers: HTTPHeaders) -> JSONValue {
        .array(headers.fields.map { [.string($0.name), .string($0.value)] })
    }

    private static func json(_ transfer: Record.BodyTransfer) -> JSONValue {
        ["bytes": .number(transfer.byteCount), "isCut": .bool(transfer.isCut), "end": .string(transfer.end.rawValue)]
    }

    private static func request(_ json: JSONValue?, _ body: [UInt8]) throws -> HTTPRequest {
        let timeout = json?["timeout"].flatMap { parts -> Duration? in
            guard let seconds = parts[0]?.intValue, let attoseconds = parts[1]?.intValue else { return nil }
            return Duration(secondsComponent: Int64(seconds), attosecondsComponent: Int64(attoseconds))
        }
        return HTTPRequest(
            method: .init(try required(json?["method"]?.stringValue)), url: try required(json?["url"]?.stringValue),
            headers: try headers(json?["headers"]), body: .bytes(body), timeout: timeout)
    }

    private static func headers(_ json: JSONValue?) throws -> HTTPHeaders {
        HTTPHeaders(
            try required(json?.arrayValue).map { field in
                .init(name: try required(field[0]?.stringValue), value: try required(field[1]?.stringValue))
            })
    }

    private static func transfer(_ json: JSONValue?) -> Record.BodyTransfer? {
        guard let bytes = json?["bytes"]?.intValue else { return nil }
        return .init(
            byteCount: bytes, isCut: json?["isCut"]?.boolValue ?? false,
            end: json?["end"]?.stringValue.flatMap(Record.BodyTransfer.End.init) ?? .complete)
    }

    private static func required<Value>(_ value: Value?) throws -> Value {
        guard let value else { throw InterceptionError(.invalidFile, "A record in the file is incomplete.") }
        return value
    }
}
