import BaseTestSupport
import Foundation
import StoreKitAdapter
import StoreModel
import StoreTestSupport

@testable import InAppStore

/// One life, lived by a store in the real world and by a naive customer.
final class RandomLife {
    private let world: RealWorld
    private let disk = MemorySecureStorage()
    private var line = Line()
    private let clock: SettableClock
    private var store: Store
    private var naive: NaiveCustomer

    static func live(_ steps: [LifeStep]) async throws {
        try await RealWorld.run { world in
            let life = try RandomLife(world)
            do {
                for (index, step) in steps.enumerated() { try await life.live(step, index) }
            } catch {
                await life.end()
                throw error
            }
            await life.end()
        }
    }

    private init(_ world: RealWorld) throws {
        self.world = world
        naive = NaiveCustomer(at: world.now)
        clock = SettableClock(world.simulator.clock)
        store = try Self.launch(world, disk, line, clock)
    }

    private static func launch(
        _ world: RealWorld, _ disk: MemorySecureStorage, _ line: Line, _ clock: SettableClock
    ) throws -> Store {
        try Store(
            configuration: world.configuration(
                line: line, storage: DeviceStorage(disk, writtenBy: line), clock: clock))
    }

    private func end() async { await store.close() }

    private func live(_ step: LifeStep, _ index: Int) async throws {
        let complaint: String?
        do {
            complaint = try await perform(step)
            try await settle()
        } catch {
            throw LifeDifference(step: index, description: "\(step) threw \(error)")
        }
        if let complaint { throw LifeDifference(step: index, description: "\(step): \(complaint)") }
        let snapshot = store.snapshot
        let isSubscribed = snapshot.subscriptionInfo?.isExpired == false
        guard naive.subscription.contains(isSubscribed) else {
            throw LifeDifference(step: index, description: "after \(step), subscribed is \(isSubscribed)")
        }
        let (allowed, due) = (snapshot.allowedProducts, naive.allowed(subscribed: isSubscribed))
        guard allowed == due else {
            throw LifeDifference(
                step: index, description: "after \(step), allowed are \(allowed.sorted()), should be \(due.sorted())")
        }
    }

    private var mayAcquire: Bool {
        naive.subscription.count == 1
            ? naive.subscription.contains(true) : store.snapshot.subscriptionInfo?.isExpired == false
    }

    /// The server hears of everything from the store, and the device from the server, when the line is up.
    private func settle() async throws {
        try await world.settle(deviceIsOnline: line.isUp(.store) && line.isUp(.server))
        guard line.isUp(.server) else { return }
        try await store.validateReceipt()
        naive.hear()
    }

    // MARK: - Steps

    /// What went otherwise than it must.
    private func perform(_ step: LifeStep) async throws -> String? {
        switch step {
        case .buy(let product): return await buy(product)
        case .buyAndCrash(let product, let requests):
            line.die(after: requests)
            try? await store.purchaseProduct(product.rawValue)
            try await crash()
            if try await isSold(product) { naive.buy(product) }
        case .subscribe:
            return naive.isSubscribed ? nil : await buy("pro.weekly")
        case .acquire(let product):
            let mayAcquire = mayAcquire && product != "hat"
            if mayAcquire { naive.acquire([product]) }
            return await expect(mayAcquire ? nil : .invalidProductForPurchasing) {
                try await store.purchaseProduct(product.rawValue)
            }
        case .acquireAll:
            let mayAcquire = mayAcquire
            if mayAcquire { naive.acquire(["film.noir", "film.warm"]) }
            return await expect(mayAcquire ? nil : .acquireAllRequestedForNonSubscriber) {
                try await store.acquireAllEnabledProducts()
            }
        case .restore:
            let isPossible = line.isUp(.store) && (line.isUp(.server) || hasNothing)
            return await expect(
                isPossible ? nil : line.isUp(.store) ? .acknowledgementPending : .restorePurchasesFailed
            ) {
                try await store.restorePurchases()
            }
        case .refresh:
            return await expect(line.isUp(.server) ? nil : .receiptValidationFailed) {
                try await store.refreshReceipt()
            }
        case .wait(let days):
            let seconds = TimeInterval(days) * 86400 + 1
            // A device that runs looks at its clock meanwhile; one that jumps by days was set.
            for _ in 0..<days {
                _ = try await world.simulator.advance(.init(seconds: seconds / TimeInterval(days)))
                _ = store.snapshot
            }
            naive.wait(seconds)
        case .cancelRenewal: if naive.isSubscribed { try await setRenewal(false) }
        case .resumeRenewal: if naive.isSubscribed { try await setRenewal(true) }
        case .refund(let product): try await refund(product)
        case .cut(let ends): line.cut(ends)
        case .mend: line.mend([.store, .server])
        case .crash: try await crash()
        case .setClock(let days):
            clock.set(ahead: TimeInterval(days * 86400))
            naive.setClock(ahead: TimeInterval(days * 86400))
        case .logOutAndIn:
            try await store.logOut()
            naive.forget()
            return await expect(line.isUp(.server) ? nil : .receiptValidationFailed) { try await store.logIn("ada") }
        }
        return nil
    }

    private var hasNothing: Bool { naive.goods.owned.isEmpty && !naive.isSubscribed }

    private func buy(_ product: ProductID) async -> String? {
        let isOwned = naive.goods.owned.contains(product)
        if line.isUp(.store) { naive.buy(product) }
        // What is owned is given back by the store, and may have been acknowledged before.
        if isOwned, line.isUp(.store), !line.isUp(.server) {
            try? await store.purchaseProduct(product.rawValue)
            return nil
        }
        let refusal: PurchaseError.Code? =
            !line.isUp(.store) ? .purchaseFailed : line.isUp(.server) ? nil : .acknowledgementPending
        return await expect(refusal) { try await store.purchaseProduct(product.rawValue) }
    }

    /// The app dies and is launched again on the same device, with a line as good as before.
    private func crash() async throws {
        let down = Set([Line.End.store, .server].filter { !line.isUp($0) })
        let wasDead = line.isDead
        line.die()
        await store.close()
        line = Line()
        if !wasDead { line.cut(down) }
        naive.crash()
        store = try Self.launch(world, disk, line, clock)
    }

    private func isSold(_ product: ProductID) async throws -> Bool {
        try await world.simulator.transactions(of: "ada").contains {
            $0.productID == product && $0.revocationDate == nil
        }
    }

    private func setRenewal(_ isOn: Bool) async throws {
        if isOn {
            _ = try await world.simulator.resume("pro.weekly", for: "ada")
        } else {
            try await world.simulator.cancel("pro.weekly", for: "ada")
        }
        naive.setRenewal(isOn)
    }

    private func refund(_ product: ProductID) async throws {
        let bought = try await world.simulator.transactions(of: "ada").filter {
            $0.productID == product && $0.revocationDate == nil
        }
        guard let latest = bought.last, product != "pro.weekly" || naive.isSubscribed else { return }
        try await world.simulator.refund(latest.transactionID)
        naive.refund(product)
    }

    private func expect(_ code: PurchaseError.Code?, _ body: () async throws -> Void) async -> String? {
        do {
            try await body()
            return code.map { "did not throw \($0.rawValue)" }
        } catch let error as PurchaseError {
            // A store that is away may be missed at the question about the product, before any payment.
            if code == .purchaseFailed, error.code == .productsMetadataFetchingFailed { return nil }
            return error.code == code
                ? nil : "threw \(error.code.rawValue) (\(error)), not \(code?.rawValue ?? "nothing")"
        } catch {
            return "threw \(error)"
        }
    }
}
