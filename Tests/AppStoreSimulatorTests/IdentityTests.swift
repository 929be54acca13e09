import BaseTestSupport
import Foundation
import HTTPCore
import Primitives
import StoreKitAdapter
import StoreModel
import Testing

@testable import AppStoreSimulator

/// Names in two Unicode forms and bytes that are not UTF-8, in requests to every endpoint of the store.
struct IdentityTests {
    private static func escaped(_ text: String) -> String { PercentEncoding.encode(text) }

    private static func path(_ endpoint: Endpoint<StoreHandler>, _ name: String) -> String {
        endpoint.path { ["account", "member", "family"].contains($0) ? escaped(name) : "1" }
    }

    private static func body(_ endpoint: Endpoint<StoreHandler>) -> String {
        switch endpoint.id {
        case "answerPriceIncrease": #"{"productID":"monthly","agrees":true}"#
        case "redeem": #"{"code":"spring"}"#
        case "joinFamily": #"{"account":"guest"}"#
        case "setRenewalSeats": #"{"productID":"monthly","count":1}"#
        case "assignSeat", "removeSeat": #"{"productID":"monthly","member":"guest"}"#
        default: endpoint.body == nil ? "" : #"{"productID":"monthly"}"#
        }
    }

    @Test func `an account or a family in another Unicode form is unknown at every endpoint`() async throws {
        try await TestStore.withPlay { test, _ in
            let client = StoreRoutesTests.Client(test)
            let named = StoreEndpoints.all.filter { endpoint in
                !Set(endpoint.pathParameters).isDisjoint(with: ["account", "member", "family"])
            }
            #expect(named.count > 15)
            _ = try await client.ask(.post, "/control/v1/accounts", #"{"name":"guest"}"#)
            for (index, pair) in UnicodeForms.pairs.enumerated() {
                let (owner, other) = ("\(index) \(pair.composed)", "\(index) \(pair.other)")
                for (path, body) in [
                    ("accounts", ["name": .string(owner)]),
                    ("families", ["name": .string(owner), "organizer": .string(owner)]),
                    ("accounts/\(Self.escaped(owner))/buy", ["productID": "monthly"]),
                ] as [(String, JSONValue)] {
                    let (status, _) = try await client.ask(.post, "/control/v1/" + path, body.text())
                    #expect((200...201).contains(status))
                }
                let before = try await Self.all(about: owner, client)
                for endpoint in named {
                    let otherForm = try await client.ask(
                        endpoint.method, Self.path(endpoint, other), Self.body(endpoint))
                    let stranger = try await client.ask(
                        endpoint.method, Self.path(endpoint, "stranger"), Self.body(endpoint))
                    #expect(otherForm.status == stranger.status && otherForm.status == 404, "\(endpoint.id) \(pair)")
                    #expect(otherForm.json["code"] == stranger.json["code"], "\(endpoint.id) \(pair)")
                }
                #expect(try await Self.all(about: owner, client) == before, "\(pair)")
            }
        }
    }

    private static func all(about account: String, _ client: StoreRoutesTests.Client) async throws -> [JSONValue] {
        var all = [try await client.ask(.get, "/control/v1/families").json]
        for endpoint in StoreEndpoints.all where endpoint.method == .get && endpoint.pathParameters == ["account"] {
            let (status, json) = try await client.ask(.get, path(endpoint, account))
            #expect(status == 200)
            all.append(unsigned(json))
        }
        return all
    }

    /// Removes signed values, which differ in each answer.
    private static func unsigned(_ json: JSONValue) -> JSONValue {
        switch json {
        case .string(let text): text.utf8.count > 200 ? "signed" : json
        case .array(let elements): .array(elements.map(unsigned))
        case .object(let members): .object(JSONMembers(members.map { ($0.key, unsigned($0.value)) }))
        default: json
        }
    }

    @Test(arguments: UnicodeForms.pairs)
    func `accounts and families whose names differ only in their Unicode form are different`(pair: UnicodeForms)
        async throws
    {
        try await TestStore.with { test in
            let client = StoreRoutesTests.Client(test)
            for name in [pair.composed, pair.other] {
                let account: JSONValue = ["name": .string(name)]
                #expect(try await client.ask(.post, "/control/v1/accounts", account.text()).status == 201)
                let family: JSONValue = ["name": .string(name), "organizer": .string(name)]
                #expect(try await client.ask(.post, "/control/v1/families", family.text()).status == 201)
            }
            let listed = try await client.ask(.get, "/control/v1/accounts").json["accounts"]?.arrayValue
            let names = (listed ?? []).compactMap { $0["name"]?.stringValue }.map { Array($0.utf8) }
            #expect(names.count == 2 && names == names.sorted { $0.lexicographicallyPrecedes($1) })
            let (one, two) = (Self.escaped(pair.composed), Self.escaped(pair.other))
            let left = try await client.ask(.delete, "/control/v1/families/\(one)/members/\(two)")
            #expect(left.status == 409 && left.json["code"] == "notInFamily")
            #expect(try await client.ask(.delete, "/control/v1/families/\(two)/members/\(two)").status == 200)
            let families = try await client.ask(.get, "/control/v1/families").json["families"]?.arrayValue ?? []
            #expect(families.count == 1 && families[0]["name"]?.stringValue.hasSameBytes(as: pair.composed) == true)
        }
    }

    @Test(arguments: ["%FF", "%FE", "a%C3", "%C0%80", "%ED%A0%80"])
    func `an escape that is not UTF-8 is refused, in every parameter of every endpoint`(bytes: String) async throws {
        try await TestStore.with { test in
            let client = StoreRoutesTests.Client(test)
            for endpoint in StoreEndpoints.all {
                for parameter in endpoint.pathParameters {
                    let path = endpoint.path.replacingOccurrences(of: "{\(parameter)}", with: bytes)
                        .replacing(/\{[a-z]+\}/, with: "1")
                    let response = try await client.transport.send(
                        HTTPRequest(
                            method: endpoint.method, url: "http://store.test" + path,
                            body: .text(Self.body(endpoint))))
                    #expect(response.status == 400, "\(endpoint.method) \(path)")
                }
                for parameter in endpoint.query {
                    let path = endpoint.path.replacing(/\{[a-z]+\}/, with: "1")
                    let response = try await client.transport.send(
                        HTTPRequest(
                            method: endpoint.method, url: "http://store.test\(path)?\(parameter.name)=\(bytes)"))
                    #expect(response.status == 400, "\(endpoint.method) \(path)?\(parameter.name)")
                }
            }
        }
    }

    @Test(arguments: UnicodeForms.pairs)
    func `ids of products, groups, offers and codes are refused unless they are in NFC`(pair: UnicodeForms) throws {
        func catalogue(product: String = "a", group: String = "g", offer: String = "o", code: String = "c") -> JSONValue
        {
            let free: JSONValue = ["paymentMode": "free", "subscriptionPeriod": "P1W"]
            var (promotional, coded) = (free, free)
            promotional["offerID"] = .string(offer)
            coded["referenceName"] = .string(code)
            let subscription: JSONValue = [
                "productID": .string(product), "displayPrice": "1.00", "recurringSubscriptionPeriod": "P1M",
                "groupNumber": 1, "adHocOffers": .array([promotional]), "codeOffers": .array([coded]),
            ]
            let sold: JSONValue = ["id": .string(group), "name": "G", "subscriptions": .array([subscription])]
            return ["version": ["major": 4, "minor": 0], "subscriptionGroups": .array([sold])]
        }
        for good in [
            catalogue(product: pair.composed), catalogue(group: pair.composed), catalogue(offer: pair.composed),
            catalogue(code: pair.composed),
        ] {
            #expect(throws: Never.self) { try Catalogue(parsing: good.encoded(), file: "test.storekit") }
        }
        for bad in [
            catalogue(product: pair.other), catalogue(group: pair.other), catalogue(offer: pair.other),
            catalogue(code: pair.other),
        ] {
            let findings = Catalogue.lint(bad.encoded(), file: "test.storekit")
            #expect(findings.contains { $0.code == .badIdentifier && $0.reason.contains("NFC") })
            #expect(throws: CatalogueError.self) { try Catalogue(parsing: bad.encoded(), file: "test.storekit") }
        }
    }

    @Test func `random names of accounts are kept byte for byte`() async throws {
        try await TestStore.with { test in
            var numbers = SeededNumbers(state: 41)
            for round in 0..<UnicodeForms.rounds(60, cost: 40) {
                let pair = UnicodeForms.random(using: &numbers)
                let names = ["\(round) \(pair.composed)", "\(round) \(pair.other)"].compactMap(
                    AccountName.init(rawValue:))
                guard names.count == 2, names[0] != names[1] else { continue }
                for name in names { try await test.store.createAccount(name, with: .init()) }
                for name in names { #expect(try test.store.account(name).name.hasSameBytes(as: name.rawValue)) }
                #expect(try test.store.accounts().count { names.contains($0) } == 2)
            }
        }
    }
}
