import SimulatorControl
import AppStoreSimulator
import CurlTransport
import Foundation
import HTTPCore
import HTTPListener
import Primitives
import SQLStorage
import StoreKitAdapter
import StoreModel

/// The child process: a simulated store that counts the operations of its database and its notifications with a fuse.
/// Its first line of output is its URL.
enum StoreChild {
    static let catalogue = #"""
        {"version": {"major": 4, "minor": 0}, "settings": {"_storefront": "USA", "_locale": "en_US"},
         "products": [
           {"productID": "coins", "type": "Consumable", "displayPrice": "0.99"},
           {"productID": "pack", "type": "NonConsumable", "displayPrice": "9.99"}],
         "subscriptionGroups": [{"id": "plus", "name": "Plus", "subscriptions": [
           {"productID": "monthly", "displayPrice": "4.99", "recurringSubscriptionPeriod": "P1M", "groupNumber": 1}]}]}
        """#

    static func run(_ settings: Settings) async throws {
        let folder = try settings.required("data")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        var configuration = SimulatedAppStore.Configuration(
            catalogue: try Catalogue(parsing: Array(catalogue.utf8), file: "catalogue"), dataDirectory: folder)
        configuration.timeRate = .frozen
        let fuse = Fuse(settings.killAt)
        configuration.database = FusedDatabase(
            database: try SQLiteDatabase(path: folder + "/store.sqlite"), fuse: fuse)
        configuration.notificationsURL = try settings.required("receiver")
        configuration.notificationTransport = FusedTransport(network: CurlTransport.platformDefault(), fuse: fuse)
        let store = try await SimulatedAppStore.open(configuration)
        let listener = HTTPListener(handler: store.handler)
        let url = try listener.start().url
        FileHandle.standardOutput.write(Data("\(url)\n".utf8))
        await waitForEndOfInput()
    }
}

/// Uses a store that is killed during the run, and repeats requests that got no response. Then checks that each payment
/// and refund took effect exactly once.
struct StoreCrash {
    private let folder: String
    private let killAt: Int
    private let network: any HTTPTransport
    private let server: NotificationReceiver
    private var child: Child
    private var url: String
    private(set) var wasKilled = false
    private var device = ""
    private var cursor: String?
    private var answers: [String: TransactionID] = [:]
    private var finished: Set<TransactionID> = []
    private var refunded: TransactionID?

    /// Returns whether the store was killed.
    static func attempt(_ point: Int, in folder: String, over network: any HTTPTransport) async throws -> Bool {
        let data = folder + "/store-\(point)"
        var crash = try await StoreCrash(data, killAt: point, network)
        try await crash.useStore()
        try await crash.deliver()
        try await crash.check()
        await crash.server.stop()
        await crash.child.kill()
        try await crash.checkFile()
        return crash.wasKilled
    }

    private init(_ folder: String, killAt: Int, _ network: any HTTPTransport) async throws {
        self.folder = folder
        self.killAt = killAt
        self.network = network
        server = try NotificationReceiver()
        child = try Child(["store", "data=\(folder)", "receiver=\(server.url)", "kill-at=\(killAt)"])
        url = ""
        if let line = await child.firstLine() { url = line } else { try await startAgain() }
    }

    private mutating func startAgain() async throws {
        let status = await child.waitForEnd()
        guard !wasKilled, status == SIGKILL + 128 else {
            throw CrashFailure("point \(killAt): the store ended with \(status): \(child.errorOutput)")
        }
        wasKilled = true
        child = try Child(["store", "data=\(folder)", "receiver=\(server.url)"])
        guard let line = await child.firstLine() else {
            throw CrashFailure("point \(killAt): the store did not start again: \(child.errorOutput)")
        }
        url = line
    }

    // MARK: - A run

    private mutating func useStore() async throws {
        let account = try WireJSON.encode(StoreControlWire.Account(name: "anna"))
        try await ask(.post, "/control/v1/accounts", account, accepting: 409)
        let signedIn = try await ask(.post, "/store/v1/devices", try WireJSON.encode(StoreWire.SignIn(account: "anna")))
        device = try WireJSON.decode(StoreWire.Device.self, from: signedIn).deviceID
        for (number, product) in ["coins", "monthly", "pack", "coins"].enumerated() {
            try await pay("p\(number)", ProductID(unchecked: product))
        }
        try await poll()
        try await finish("p0")
        try await finish("p1")
        try await ask(
            .post, "/control/v1/clock/advance", try WireJSON.encode(StoreControlWire.Advance(period: .months(2))))
        try await poll()
        try await change("cancel")
        try await pay("p4", "coins")
        try await change("resume")
        guard let pack = answers["p2"] else { throw CrashFailure("point \(killAt): the pack was not reported") }
        try await ask(.post, "/control/v1/transactions/\(pack)/refund", Array("{}".utf8), accepting: 409)
        refunded = pack
        try await pay("p5", "coins")
        try await poll()
        try await finish("p4")
    }

    /// Repeats the delivery until no notification waits, at most 12 times.
    private mutating func deliver() async throws {
        for _ in 0..<12 {
            let bytes = try await ask(.post, "/control/v1/notifications/deliver")
            if try WireJSON.decode(StoreControlWire.Deliveries.self, from: bytes).waiting == 0 { return }
            try await ask(
                .post, "/control/v1/clock/advance", try WireJSON.encode(StoreControlWire.Advance(period: .days(4))))
        }
        throw CrashFailure("point \(killAt): notifications do not arrive")
    }

    private mutating func pay(_ id: String, _ product: ProductID) async throws {
        let payment = Payment(id: PaymentID(unchecked: id), productID: product)
        try await ask(.post, "/store/v1/devices/\(device)/payments", try WireJSON.encode(payment))
    }

    private mutating func change(_ word: String) async throws {
        let body = try WireJSON.encode(StoreControlWire.OfProduct(productID: "monthly"))
        try await ask(.post, "/control/v1/accounts/anna/\(word)", body)
    }

    private mutating func finish(_ payment: String) async throws {
        guard let id = answers[payment] else { throw CrashFailure("point \(killAt): \(payment) was not answered") }
        try await ask(.post, "/store/v1/devices/\(device)/transactions/\(id)/finish")
        finished.insert(id)
    }

    private mutating func poll() async throws {
        let after = cursor.map { "&after=\($0)" } ?? ""
        let bytes = try await ask(.get, "/store/v1/devices/\(device)/updates?wait=0\(after)")
        let answer = try WireJSON.decode(StoreWire.Updates.self, from: bytes)
        cursor = answer.cursor
        for update in answer.updates {
            guard let payment = update.paymentID?.rawValue, let id = update.transaction?.id else { continue }
            if let before = answers[payment], before != id {
                throw CrashFailure("point \(killAt): \(payment) was answered by \(before) and by \(id)")
            }
            answers[payment] = id
        }
    }

    /// Repeats a request until there is a response, and starts a killed store again. A repeated request may get the
    /// status `other`. Throws if the store ends twice.
    @discardableResult
    private mutating func ask(
        _ method: HTTPRequest.Method, _ path: String, _ body: [UInt8] = [], accepting other: Int? = nil
    ) async throws -> [UInt8] {
        while true {
            let answer: (status: Int, body: [UInt8])
            do {
                let headers: HTTPHeaders = body.isEmpty ? [:] : ["Content-Type": "application/json"]
                let response = try await network.send(
                    HTTPRequest(method: method, url: url + path, headers: headers, body: .bytes(body)))
                answer = (response.status, try await response.body.collect(upTo: 4 << 20))
            } catch {
                try await startAgain()
                continue
            }
            let wasRepeated = wasKilled && answer.status == other
            guard (200..<300).contains(answer.status) || wasRepeated else {
                throw CrashFailure("point \(killAt): \(path) got the status \(answer.status)")
            }
            return answer.body
        }
    }

    // MARK: - Checks

    private mutating func check() async throws {
        let all = try WireJSON.decode(
            StoreControlWire.Transactions.self, from: try await ask(.get, "/control/v1/accounts/anna/transactions")
        ).transactions
        let known = Set(all.map(\.transactionID))
        guard known.count == all.count else { throw CrashFailure("point \(killAt): a transaction is stored twice") }
        for (payment, id) in answers where !known.contains(id) {
            throw CrashFailure("point \(killAt): \(payment) was answered by \(id), which is gone")
        }
        let counts = ["coins", "pack"].map { product in all.filter { $0.productID.rawValue == product }.count }
        guard counts == [4, 1] else { throw CrashFailure("point \(killAt): \(counts) of coins and packs were sold") }
        let months = all.filter { $0.productID == "monthly" }.count
        guard months == 3 || wasKilled && months == 5 else {
            throw CrashFailure("point \(killAt): \(months) months were sold")
        }
        guard all.first(where: { $0.transactionID == refunded })?.state == "revoked" else {
            throw CrashFailure("point \(killAt): the refund is gone")
        }
        try await checkNotifications(all)
        cursor = nil
        let bytes = try await ask(.get, "/store/v1/devices/\(device)/updates?wait=0")
        let sales = try WireJSON.decode(StoreWire.Updates.self, from: bytes).updates
            .filter { $0.state == "purchased" || $0.state == "revoked" }
        let delivered = Set(sales.compactMap { $0.transaction?.id })
        // The store repeats the result of a payment until the device confirms it, even if the transaction is finished.
        let unasked = Set(sales.filter { $0.paymentID == nil }.compactMap { $0.transaction?.id })
        let expected = known.subtracting(finished)
        guard delivered.isSuperset(of: expected), unasked.isSubset(of: expected) else {
            throw CrashFailure(
                "point \(killAt): \(delivered.count) transactions are delivered, \(expected.count) are unfinished")
        }
    }

    private mutating func checkNotifications(_ all: [StoreControlWire.Transaction]) async throws {
        let bytes = try await ask(.get, "/control/v1/notifications?limit=1000")
        let notifications = try WireJSON.decode(StoreControlWire.Notifications.self, from: bytes).notifications
        let charges = Set(all.filter { $0.productID != "monthly" }.map(\.transactionID))
        do {
            try server.check(notifications, charges: charges, wasKilled: wasKilled)
        } catch let failure as CrashFailure {
            throw CrashFailure("point \(killAt): \(failure)")
        }
    }

    private func checkFile() async throws {
        let database = try SQLiteDatabase(path: folder + "/store.sqlite")
        let answer = try database.read { try $0.query("PRAGMA integrity_check", []).map { try $0[0] as String } }
        await database.close()
        guard answer == ["ok"] else { throw CrashFailure("point \(killAt): the database is damaged: \(answer)") }
    }
}
