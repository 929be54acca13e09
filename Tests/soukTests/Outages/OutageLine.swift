import Foundation
import HTTPCore
import NetworkTestSupport
import Primitives

/// What goes wrong between a plugin and its server.
enum Outage: String, CaseIterable, Sendable {
    case never = "never reached"
    case down = "down at start"
    case slow = "slow"
    case failing = "500"
    case unauthorised = "401"
    case garbage = "garbage"
    case truncated = "truncated"
    case forged = "wrong signature"
    case skewed = "clock skew"

    /// Nothing comes through that could be read.
    var isTotal: Bool { ![.unauthorised, .forged, .skewed].contains(self) }
}

/// The network between an app and one of its servers, on which one thing goes wrong, from the start or from when a test
/// says so.
final class OutageLine: HTTPTransport {
    private let inner: any HTTPTransport
    private let outage: Locked<Outage?>
    private let changes = Broadcast<Outage?>(replaysLast: true)
    private let hole: ListeningPort

    /// - Parameter hole: where nobody ever answers.
    init(_ inner: any HTTPTransport, _ outage: Outage?, hole: ListeningPort) {
        (self.inner, self.outage, self.hole) = (inner, Locked(outage), hole)
        changes.send(outage)
    }

    /// `nil` ends it.
    func begin(_ outage: Outage?) {
        self.outage.withLock { $0 = outage }
        changes.send(outage)
    }

    /// Returns as soon as nothing goes wrong, or throws when the task is cancelled.
    func repaired() async throws {
        for await outage in changes.stream() where outage == nil { return }
        throw CancellationError()
    }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        let outage = outage.withLock { $0 }
        var request = request
        switch outage {
        case .never, .down: request.url = elsewhere(request.url, port: 1)
        case .slow:
            request.url = elsewhere(request.url, port: hole.number)
            // The sender's own deadline, only sooner.
            request.timeout = .milliseconds(300)
        case .failing: return HTTPResponse(status: 500)
        case .unauthorised:
            for name in ["Authorization", "x-api-key"] where request.headers[name] != nil {
                request.headers[name] = name == "Authorization" ? "Bearer pk_nobody" : "pk_nobody"
            }
        case .garbage, .truncated, .forged, .skewed, nil: break
        }
        var response = try await inner.send(request)
        switch outage {
        case .garbage: response.body = .text("{\"half\": ")
        case .truncated: throw HTTPError(.connectionLost, "The connection ended in the middle of the answer.")
        case .forged: response.body = .bytes(Self.forge(try await response.body.collect(upTo: 1 << 20)))
        default: break
        }
        return response
    }

    /// The same to whoever looks at no signature: of what the App Store signed the signature is another, and JSON that is
    /// signed in a header has one space more.
    private static func forge(_ bytes: [UInt8]) -> [UInt8] {
        let text = String(decoding: bytes, as: UTF8.self)
        let signed = /(eyJ[\w-]+\.[\w-]+\.[\w-]+)[\w-]{8}/
        let forged = text.replacing(signed) { "\($0.1)AAAAAAAA" }
        return Array((forged.hasPrefix("{") ? "{ " + forged.dropFirst() : forged).utf8)
    }

    private func elsewhere(_ url: String, port: Int) -> String {
        let path = url.split(separator: "/", maxSplits: 2)[1].drop { $0 != "/" }
        return "http://127.0.0.1:\(port)\(path)"
    }
}
