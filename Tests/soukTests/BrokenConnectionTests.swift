import BaseTestSupport
import Foundation
import HTTPCore
import Primitives
import Testing

/// Clients whose connection breaks during a request or its response.
@Suite struct BrokenConnectionTests {
    /// The point of the break.
    private enum Break: Sendable, CustomStringConvertible {
        /// This number of bytes of the request was sent.
        case afterSending(Int)
        /// The whole request was sent, and at most this number of bytes of the response received.
        case afterReceiving(Int)

        var description: String {
            switch self {
            case .afterSending(let count): "\(count) sent"
            case .afterReceiving(let count): "\(count) received"
            }
        }
    }

    private func request(_ body: [UInt8], by customer: String, key: String) -> [UInt8] {
        Array(
            """
            POST /v1/customers/\(customer)/transactions HTTP/1.1\r\nHost: x\r\nConnection: close\r
            Authorization: Bearer \(key)\r\nContent-Type: application/json\r\nIdempotency-Key: \(customer)\r
            Content-Length: \(body.count)\r\n\r\n
            """.utf8) + body
    }

    /// Returns the status and body of the response.
    private func answer(to request: [UInt8], at url: String) async throws -> (status: String, body: String) {
        let socket = try RawSocket(to: url)
        socket.send(request)
        let text = String(decoding: await socket.receive(), as: UTF8.self)
        let end = try #require(text.range(of: "\r\n\r\n"))
        return (text.prefix(12).suffix(3).description, String(text[end.upperBound...]))
    }

    @Test
    func `a connection that breaks leaves a whole purchase or none, and repetitions get the same answer`()
        async throws
    {
        let shop = try SignedShop()
        let server = try await shop.serve()
        let key = try shop.publicKey
        var number = 0
        for isHard in [true, false] {
            let signed = try shop.purchase("100")
            let length = request(try presented(signed), by: "customer-00", key: key).count
            let head = length - (try presented(signed)).count
            let sent = [1, 40, head - 1, head, head + 1, head + (length - head) / 2, length - 1, length]
            let breaks = sent.map(Break.afterSending) + [0, 1, 12, 300].map(Break.afterReceiving)
            for place in breaks {
                let customer = String(format: "customer-%02d", number)
                let id = String(100 + number)
                number += 1
                let whole = request(try presented(try shop.purchase(id)), by: customer, key: key)
                var beginning: String?
                do {
                    let socket = try RawSocket(to: server.url)
                    if isHard { socket.resetOnClose() }
                    switch place {
                    case .afterSending(let count): socket.send(whole.prefix(count))
                    case .afterReceiving(let count):
                        socket.send(whole)
                        beginning = String(decoding: await socket.receive(upTo: count), as: UTF8.self)
                    }
                }
                if case .afterSending(let count) = place, count < whole.count {
                    #expect(try await shop.purchases(of: customer, at: server) == [], "\(place)")
                }
                var first = (status: "", body: "")
                try await until("the request from before the break has ended") {
                    first = try await answer(to: whole, at: server.url)
                    return first.status != "409"
                }
                #expect(first.status == "200" && first.body.contains("\"acknowledgedTransactionIDs\":[\"\(id)\"]"))
                let second = try await answer(to: whole, at: server.url)
                #expect(second.status == "200" && second.body == first.body, "\(place)")
                if let beginning, let end = beginning.range(of: "\r\n\r\n") {
                    #expect(first.body.hasPrefix(beginning[end.upperBound...]), "\(place)")
                }
                #expect(try await shop.purchases(of: customer, at: server) == [id], "\(place)")
            }
        }
        let replayed = try await shop.replay()
        #expect(replayed.status == 0 && replayed.json?["facts"] == .number(number), "\(replayed.output)")
        #expect(await server.stop() == 0)
    }

    private func presented(_ signed: String) throws -> [UInt8] {
        let body: JSONValue = ["signedTransaction": .string(signed)]
        return body.encoded()
    }
}
