import Primitives
import StoreModel
import StoreTestSupport
import Testing

@testable import Purchases

/// Keychain items in memory, identified like Apple's by service, account and access group. Refuses calls on request.
private final class MemoryKeychain: Keychain {
    private struct Place: Hashable {
        var service: ExactString
        var account: ExactString
        var accessGroup: ExactString?

        init(_ item: KeychainItem) {
            service = ExactString(item.service)
            account = ExactString(item.account)
            accessGroup = item.accessGroup.map { ExactString($0) }
        }
    }

    private struct State {
        var values: [Place: [UInt8]] = [:]
        var written: [KeychainItem] = []
        var refusals: [KeychainStatus] = []
    }

    private let state = Locked(State())

    /// Sets the statuses of the next calls.
    func refuse(_ statuses: KeychainStatus...) { state.withLock { $0.refusals += statuses } }
    var written: [KeychainItem] { state.withLock { $0.written } }

    private func answer(_ body: (inout State) -> KeychainStatus) -> KeychainStatus {
        state.withLock { $0.refusals.isEmpty ? body(&$0) : $0.refusals.removeFirst() }
    }

    func value(of item: KeychainItem) -> (status: KeychainStatus, value: [UInt8]?) {
        var value: [UInt8]?
        let status = answer { state in
            value = state.values[Place(item)]
            return value == nil ? .itemNotFound : .success
        }
        return (status, value)
    }

    func add(_ item: KeychainItem, value: [UInt8]) -> KeychainStatus {
        answer { state in
            guard state.values[Place(item)] == nil else { return .duplicateItem }
            state.values[Place(item)] = value
            state.written.append(item)
            return .success
        }
    }

    func update(_ item: KeychainItem, value: [UInt8]) -> KeychainStatus {
        answer { state in
            guard state.values[Place(item)] != nil else { return .itemNotFound }
            state.values[Place(item)] = value
            state.written.append(item)
            return .success
        }
    }

    func remove(_ item: KeychainItem) -> KeychainStatus {
        answer { $0.values.removeValue(forKey: Place(item)) == nil ? .itemNotFound : .success }
    }
}

struct KeychainStorageTests {
    private let keychain = MemoryKeychain()

    private func storage(_ service: String = "app", group: String? = nil, maximumBytes: Int = 1 << 20)
        -> KeychainStorage
    {
        KeychainStorage(
            configuration: .init(service: service, accessGroup: group, maximumBytes: maximumBytes), keychain: keychain)
    }

    @Test func `the Keychain storage passes the contract of secure storages`() throws {
        try SecureStorageContract.verify(storage())
    }

    @Test func `services and access groups keep their values apart`() throws {
        let all = [storage("app"), storage("other"), storage("app", group: "TEAM.shared")]
        for (index, storage) in all.enumerated() { try storage.set([UInt8(index)], for: "session") }
        for (index, storage) in all.enumerated() { #expect(try storage.data(for: "session") == [UInt8(index)]) }
    }

    @Test func `two apps of an access group read each other's values`() throws {
        try storage("shared", group: "TEAM.shared").set([7], for: "subscriptions")
        #expect(try storage("shared", group: "TEAM.shared").data(for: "subscriptions") == [7])
    }

    @Test func `a value can be read after the first unlock, unless the app configures another rule`() throws {
        try storage().set([1], for: "session")
        var configuration = KeychainStorage.Configuration(service: "strict")
        configuration.accessibility = .whenUnlocked
        try KeychainStorage(configuration: configuration, keychain: keychain).set([1], for: "session")
        #expect(keychain.written.map(\.accessibility) == [.afterFirstUnlock, .whenUnlocked])
    }

    @Test func `a write succeeds if another process creates the item between update and add`() throws {
        try storage().set([1], for: "session")
        keychain.refuse(.itemNotFound)
        try storage().set([2], for: "session")
        #expect(try storage().data(for: "session") == [2])
    }

    @Test func `an item that appears and disappears again and again is an error, not an endless loop`() throws {
        for _ in 0..<20 { keychain.refuse(.itemNotFound, .duplicateItem) }
        #expect(throws: PurchaseError(.storageFailed)) { try storage().set([2], for: "session") }
    }

    @Test(arguments: [
        (KeychainStatus.interactionNotAllowed, PurchaseError.Code.storageLocked, "locked"),
        (.missingEntitlement, .storageFailed, "TEAM.shared"), (.undecodable, .storageCorrupt, "damaged"),
        (.diskFull, .storageFailed, "full"), (.notAvailable, .storageFailed, "no Keychain"),
        (.init(rawValue: -25293), .storageFailed, "-25293"),
    ])
    func `an error of the Keychain has its reason and the key, never the value`(
        status: KeychainStatus, code: PurchaseError.Code, reason: String
    ) throws {
        let storage = storage(group: "TEAM.shared")
        try storage.set(Array("hush".utf8), for: "session")
        let attempts: [() throws -> Void] = [
            { _ = try storage.data(for: "session") }, { try storage.set(Array("psst".utf8), for: "session") },
            { try storage.set(nil, for: "session") },
        ]
        for attempt in attempts {
            keychain.refuse(status)
            let error = #expect(throws: PurchaseError(code)) { try attempt() }
            #expect(error?.reason.contains("session") == true && error?.reason.contains(reason) == true)
            #expect(error?.reason.contains("hush") == false && error?.reason.contains("psst") == false)
        }
        #expect(try storage.data(for: "session") == Array("hush".utf8), "nothing was changed")
    }

    @Test func `a value over the limit is refused and changes nothing`() throws {
        let storage = storage(maximumBytes: 4)
        try storage.set([1, 2, 3, 4], for: "session")
        #expect(throws: PurchaseError(.storageFailed)) { try storage.set([1, 2, 3, 4, 5], for: "session") }
        #expect(try storage.data(for: "session") == [1, 2, 3, 4])
    }

    @Test(arguments: ["", String(repeating: "k", count: 256)])
    func `a key that is empty or too long is refused`(key: String) {
        #expect(throws: PurchaseError(.storageFailed)) { try storage().set([1], for: key) }
        #expect(throws: PurchaseError(.storageFailed)) { try storage().data(for: key) }
    }
}
