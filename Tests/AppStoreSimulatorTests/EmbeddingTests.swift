import BaseTestSupport
import Foundation
import HTTPCore
import Primitives
import StoreKitAdapter
import StoreModel
import Testing

@testable import AppStoreSimulator

/// Many stores inside one test process.
@Suite(.serialized) struct EmbeddingTests {
    /// The code in README.md.
    @Test func `the example in the README opens a store`() async throws {
        let folder = try ScratchFolder()
        let catalogue = try Fixtures.catalogue()
        let store = try await SimulatedAppStore.open(.init(catalogue: catalogue, dataDirectory: folder.path))
        try await store.createAccount("anna")
        try await store.buy("monthly", for: "anna")
        try await store.advance(by: .months(1))
        #expect(try await store.transactions(of: "anna").count == 2)
        await store.close()
    }

    /// The code in Documentation/Notifications.md.
    @Test func `the example in the guide opens a store that notifies a server in the same process`() async throws {
        let folder = try ScratchFolder()
        let reported = Locked(0)
        let server = AnyHTTPHandler { request in
            reported.withLock { $0 += request.url == "/apple" ? 1 : 0 }
            return .ready(HTTPResponse(status: 200))
        }
        var configuration = SimulatedAppStore.Configuration(
            catalogue: try Fixtures.catalogue(), dataDirectory: folder.path)
        configuration.notificationsURL = "http://server.test/apple"
        configuration.notificationTransport = InProcessTransport(server)
        let store = try await SimulatedAppStore.open(configuration)
        try await store.createAccount("anna")
        try await store.buy("monthly", for: "anna")
        try await store.deliverNotifications()
        #expect(reported.withLock { $0 } == 1)
        await store.close()
    }

    @Test func `three hundred stores run in one process, each with its own clock, and closing them closes their files`()
        async throws
    {
        let count = 300
        try await Self.live(in: 0..<8)
        let before = Self.threads
        let roots = try await Self.live(in: 0..<count)
        #expect(Set(roots).count == count)
        // Other tests start and end threads meanwhile.
        try await until("the threads of the stores end") { Self.threads < before + count / 3 }
    }

    /// Opens all stores before it closes the first. Returns the fingerprints of their roots.
    @discardableResult
    private static func live(in numbers: Range<Int>) async throws -> [String] {
        let folder = try ScratchFolder()
        let catalogue = try Fixtures.catalogue()
        let stores = try await withThrowingTaskGroup(of: SimulatedAppStore.self) { group in
            for number in numbers {
                group.addTask {
                    var configuration = SimulatedAppStore.Configuration(
                        catalogue: catalogue, dataDirectory: "\(folder.path)/\(number)")
                    configuration.timeRate = .frozen
                    configuration.start = Fixtures.start.addingTimeInterval(Double(number) * 86400)
                    return try await SimulatedAppStore.open(configuration)
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for store in stores {
                group.addTask {
                    let start = store.clock.now()
                    let months = 1 + Int(start.timeIntervalSince(Fixtures.start) / 86400) % 5
                    try await store.createAccount("anna")
                    let device = DeviceID(unchecked: try await store.signIn(account: "anna").deviceID)
                    try await store.add(Payment(id: "p", productID: "monthly.alt"), from: device)
                    try await store.advance(.init(period: .months(months)))
                    let sold = try await store.transactions(of: "anna")
                    #expect(sold.count == months + 1)
                    #expect(try await store.updates(for: device, after: nil).updates.count == months + 1)
                    #expect(store.clock.now() > start)
                }
            }
            try await group.waitForAll()
        }
        let roots = stores.map(\.summary.rootFingerprint)
        #if os(Linux)
            #expect(openFiles(in: folder.path).count >= stores.count)
        #endif
        await withTaskGroup(of: Void.self) { group in
            for store in stores { group.addTask { await store.close() } }
        }
        try await until("the files of the stores are closed") { openFiles(in: folder.path).isEmpty }
        return roots
    }

    /// The number of threads of this process; zero where the system does not report it.
    private static var threads: Int { entries(of: "/proc/self/task").count }

    /// The open files of this process in a folder; empty where the system does not report them.
    private static func openFiles(in folder: String) -> [String] {
        entries(of: "/proc/self/fd").compactMap { descriptor in
            try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor)")
        }.filter { $0.hasPrefix(folder) }
    }

    private static func entries(of folder: String) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    }
}
