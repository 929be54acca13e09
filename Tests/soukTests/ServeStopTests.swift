import BaseTestSupport
import CurlTransport
import Foundation
import HTTPCore
import HostTestSupport
import NetworkTestSupport
import Primitives
import Testing

/// The end of `souk serve`, and the state afterwards.
@Suite struct ServeStopTests {
    /// The results of presented purchases, by customer.
    private struct Outcome {
        var acknowledged: [String: Set<String>] = [:]
        /// The purchases that were presented without a response, by customer.
        var open: [String: Set<String>] = [:]
        var otherStatuses: Set<Int> = []
        var count = 0
    }

    @Test func `a server that is stopped while sixteen customers buy loses no acknowledged purchase`() async throws {
        let shop = try SignedShop()
        var server = try await shop.serve()
        let (idle, sending) = (try RawSocket(to: server.url), try RawSocket(to: server.url))
        sending.send(Array("POST /v1/customers/a/transactions HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{".utf8))
        let results = Locked(Outcome())
        await withTaskGroup { group in
            for number in 0..<16 {
                group.addTask { [server] in await buy(as: "customer-\(number)", from: shop, at: server, results) }
            }
        }
        try #require(results.withLock { $0.count } >= 100)
        #expect(await server.waitForEnd() == 0)
        #expect(await idle.receive().isEmpty)
        #expect(await sending.receive().isEmpty)
        let outcome = results.withLock { $0 }
        #expect(outcome.otherStatuses.isSubset(of: [503]))

        server = try await shop.serve()
        for (customer, ids) in outcome.acknowledged {
            let kept = try await shop.purchases(of: customer, at: server)
            #expect(kept.isSuperset(of: ids))
            #expect(kept.subtracting(ids).isSubset(of: outcome.open[customer] ?? []))
        }
        for (customer, ids) in outcome.open {
            for id in ids {
                let request = try shop.presentation(of: shop.purchase(id), by: customer, to: server)
                #expect(try await CurlTransport.platformDefault().send(request).status == 200)
            }
        }
        let replayed = try await shop.replay()
        let all = outcome.acknowledged.values.joined().count + outcome.open.values.joined().count
        #expect(replayed.status == 0 && replayed.json?["purchases"] == .number(all), "\(replayed.output)")
        #expect(await server.stop() == 0)
    }

    /// Buys until the server refuses a purchase or does not answer. Stops the server when it has acknowledged a hundred
    /// purchases, of all customers together.
    private func buy(as customer: String, from shop: SignedShop, at server: SoukService, _ results: Locked<Outcome>)
        async
    {
        let network = CurlTransport.platformDefault()
        for number in 0... {
            let id = "\(customer.split(separator: "-")[1])\(1000 + number)"
            do {
                let status = try await network.send(
                    try shop.presentation(of: shop.purchase(id), by: customer, to: server)
                ).status
                let count = results.withLock { outcome in
                    if status == 200 {
                        outcome.acknowledged[customer, default: []].insert(id)
                        outcome.count += 1
                    } else {
                        outcome.otherStatuses.insert(status)
                        outcome.open[customer, default: []].insert(id)
                    }
                    return outcome.count
                }
                guard status == 200 else { return }
                if count == 100 { server.terminate() }
            } catch {
                results.withLock { _ = $0.open[customer, default: []].insert(id) }
                return
            }
        }
    }

    @Test func `a second signal ends the server at once`() async throws {
        let (shop, port) = (try SignedShop(), try ReservedPort())
        let server = try await shop.serve("--port", String(port.number))
        func ask(_ socket: RawSocket) {
            socket.send(Array("GET /openapi.yaml HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".utf8))
        }
        let (fast, slow) = (try RawSocket(to: server.url), try RawSocket(to: server.url, hasSmallReceiveBuffer: true))
        ask(fast)
        let whole = await fast.receive().count
        ask(slow)
        // The response exceeds the system's buffers, so the server waits until it is read.
        #expect(await slow.receive(upTo: 1).count == 1)
        server.terminate()
        try await until("the server accepts no connections after the first signal") {
            (try? RawSocket(to: port.url)) == nil
        }
        server.terminate()
        #expect(await server.waitForEnd() == 128 + SIGTERM)
        #expect(await 1 + slow.receive().count < whole)
    }

    @Test func `https is served with the certificate of the flags, and plain HTTP is refused`() async throws {
        let shop = try SignedShop()
        try await LoopbackCertificate.withFiles { files in
            let server = try await shop.serve("--tls-certificate", files.certificate, "--tls-key", files.key)
            #expect(server.url.hasPrefix("https://127.0.0.1:"))
            let trusting = loopbackTransport(trusting: files.certificate)
            let request = try shop.presentation(of: shop.purchase("1"), by: "anna", to: server)
            #expect(try await trusting.send(request).status == 200)
            await #expect(throws: HTTPError(.tlsFailed, "")) { try await CurlTransport().send(request) }
            var plain = request
            plain.url = plain.url.replacingOccurrences(of: "https:", with: "http:")
            await #expect(throws: HTTPError.self) { try await CurlTransport().send(plain) }
            #expect(await server.stop() == 0)
        }
    }

    @Test func `a certificate with another key is reported before anything is created`() async throws {
        let folder = try TemporaryFolder()
        let ledger = folder.file("ledger.sqlite")
        try await LoopbackCertificate.withFiles { files in
            for (options, sentence) in [
                (["--tls-certificate", files.certificate, "--tls-key", files.otherKey], "matching PEM files"),
                (["--tls-certificate", files.certificate, "--tls-key", files.key + ".no"], "cannot be read"),
                (["--tls-certificate", files.certificate], "--tls-certificate and --tls-key go together"),
            ] {
                let outcome = try await SoukExecutable.run(
                    ["serve", "--database", "sqlite:" + ledger, "--bundle-id", "com.example.one"] + options)
                #expect(outcome.status == 2 && outcome.errors.contains(sentence), "\(outcome.errors)")
                #expect(!outcome.errors.contains("BEGIN"))
                #expect(!FileManager.default.fileExists(atPath: ledger))
            }
        }
    }
}
