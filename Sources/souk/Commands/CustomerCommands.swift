import EntitlementServer
import Foundation
import HTTPCore
import Primitives
import SQLStorage
import SimulatorControl
import StoreModel

/// `souk customer`: exports and erases a customer, in a ledger or at a running server, and refunds an order at a running
/// server.
enum CustomerCommands {
    private static let options: [Command.Option] = [
        .init(name: "url", value: "SERVER", help: "a running entitlement server, instead of --database"),
        .init(name: "key-file", value: "F", help: "the file that holds the app's secret key, for --url"),
        LedgerLocation.option,
        .init(name: "bundle-id", value: "B", help: "the app, if the ledger has several"),
        .init(
            name: "environment", value: "E",
            help: "production, sandbox or xcode (the first of the server, or the only one that has the customer)",
            choices: SignedDataOptions.environmentNames),
        .init(name: "features", value: "FILE", help: "SQLite: the server's feature map"),
        .init(
            name: "transfer-mode", value: "M",
            help: "SQLite: the server's mode: transfer, transferIfInactive, keepWithOriginal or share (transfer)",
            choices: TransferMode.allCases.map(\.rawValue)),
        .init(name: "clock", value: "URL", help: "the simulator whose virtual time the server follows"),
    ]

    private static let places = """
        A ledger in SQLite must not be open: stop its server, or name the server with --url. A server on PostgreSQL may run
        meanwhile. The audit log gets an entry, as after the same action in the console.
        """

    static let export = Command(
        words: ["customer", "export"], summary: "Print everything that the ledger has about a customer, as JSON",
        operands: ["ID"],
        options: options + [.init(name: "json", help: "", isHidden: true)],
        details: """
            The JSON is that of GET /v1/customers/ID/export. It contains signed data of the stores: keep it as carefully as
            the ledger.
            \(places)
            """
    ) { arguments in
        let id = try id(arguments)
        let place = try Place(arguments)
        guard let held = try await place.export(id) else { throw unknown(id) }
        try Terminal.print(json: held)
        return .success
    }

    static let erase = Command(
        words: ["customer", "erase"], summary: "Erase a customer, leaving a pseudonym with products, amounts and dates",
        operands: ["ID"],
        options: options + [
            .init(name: "yes", help: "erase without asking for the id again"),
            .init(name: "json", help: "print one JSON value, as DELETE /v1/customers/ID"),
        ],
        details: """
            Asks for the id again. An erasure cannot be undone: all names of the customer are replaced by a random
            pseudonym, and the signed data of purchases that no other customer has becomes unreadable. The store does not
            learn it: a subscription continues there until its buyer cancels it. Backups keep the customer.
            \(places)
            """
    ) { arguments in
        let id = try id(arguments)
        let place = try Place(arguments)
        if !arguments.has("yes") { try confirm(id) }
        guard let erased = try await place.erase(id) else { throw unknown(id) }
        if arguments.has("json") {
            try Terminal.print(json: try WireJSON.document(erased))
        } else {
            let purchases = LintReport.count(erased.erasedPurchases, "purchase")
            try Terminal.print(
                "\(id) was erased, and the signed data of \(purchases). What remains has the pseudonym \(erased.pseudonym)"
            )
        }
        return .success
    }

    static let refund = Command(
        words: ["customer", "refund"], summary: "Refund an order of a customer at Google Play",
        operands: ["CUSTOMER", "TRANSACTION"],
        options: FactSender.options + [
            .init(name: "revoke", help: "end the purchase at once; otherwise the customer keeps it"),
            .init(name: "json", help: "print the customer's answer, as POST /v1/customers/CUSTOMER/refunds"),
        ],
        details: """
            TRANSACTION is the id of the order, such as GPA.3313-5503-3858-32549. The server asks Google with the service
            account of the app, and fetches the purchase, so that the answer follows the refund. Only Apple refunds
            purchases of the App Store. The audit log gets an entry. The command can be repeated: it refunds an order once.
            """
    ) { arguments in
        let id = try id(arguments)
        let transaction: TransactionID = try Arguments.identifier(arguments.operands[1], called: "TRANSACTION")
        let client = try FactSender.client(arguments)
        let answer = try await Place.send(
            .post, "/refunds", id, to: client,
            ["transactionID": .string(transaction.rawValue), "revoke": .bool(arguments.has("revoke"))])
        guard let answer else { throw unknown(id) }
        if arguments.has("json") {
            try Terminal.print(json: answer)
        } else {
            try Terminal.print("\(transaction) was refunded")
        }
        return .success
    }

    private static func id(_ arguments: Arguments) throws -> CustomerID {
        try Arguments.identifier(arguments.operands[0], called: "ID")
    }

    private static func unknown(_ id: CustomerID) -> Failure {
        Failure("there is no customer \(id.rawValue.quoted)")
    }

    /// Asks for the id on standard error. Throws `UsageError` unless the next line of standard input has its bytes.
    private static func confirm(_ id: CustomerID) throws {
        Terminal.write(error: "Type the id of the customer to erase it. This cannot be undone: ")
        guard let typed = readLine(), typed.hasSameBytes(as: id.rawValue) else {
            throw UsageError("the id was not confirmed, so nothing was erased; type it again, or give --yes")
        }
    }

    /// Where the customer is.
    private enum Place {
        case server(ServiceClient)
        case ledger(LedgerLocation, Arguments)

        /// Throws `UsageError` for options of both places.
        init(_ arguments: Arguments) throws {
            guard arguments.text("url") != nil else {
                guard arguments.text("key-file") == nil else { throw UsageError("--key-file is for --url") }
                self = .ledger(try LedgerLocation(arguments), arguments)
                return
            }
            for name in ["database", "bundle-id", "features", "transfer-mode", "clock"]
            where arguments.text(name) != nil {
                throw UsageError("--\(name) is for a ledger; the server of --url has its own")
            }
            var client = try FactSender.client(arguments)
            client.headers.add("Souk-Audit", "1")
            self = .server(client)
        }

        func export(_ id: CustomerID) async throws -> JSONValue? {
            switch self {
            case .server(let client): try await Self.send(.get, "/export", id, to: client)
            case .ledger: try await inLedger(id) { try await $0.export(id, in: $1) }
            }
        }

        func erase(_ id: CustomerID) async throws -> ErasedCustomer? {
            switch self {
            case .server(let client):
                try await Self.send(.delete, "", id, to: client).map {
                    try WireJSON.decode(ErasedCustomer.self, from: $0)
                }
            case .ledger: try await inLedger(id) { try await $0.erase(id, in: $1) }
            }
        }

        /// Sends a request about a customer. Returns `nil` for an unknown one.
        fileprivate static func send(
            _ method: HTTPRequest.Method, _ path: String, _ id: CustomerID, to client: ServiceClient,
            _ body: JSONValue? = nil
        ) async throws -> JSONValue? {
            let path = "/v1/customers/\(PercentEncoding.encode(id.rawValue))\(path)"
            let answer = try await client.send(method, path, body, timeout: .seconds(300))
            if answer.status == 404, answer.json["code"] == "unknown_customer" { return nil }
            guard (200..<300).contains(answer.status), case .object = answer.json else {
                let detail =
                    answer.json["detail"]?.stringValue ?? "the answer is not that of an entitlement server"
                let sentence = "\(client.url.urlWithoutSecrets): \(detail)"
                if (400..<500).contains(answer.status) { throw UsageError(sentence) }
                throw Failure(sentence)
            }
            return answer.json
        }

        /// Runs `body` on the ledger, with the environment of the customer. Returns `nil` for an unknown one.
        private func inLedger<Value: Sendable>(
            _ id: CustomerID, _ body: @Sendable (CustomerLedger, StoreEnvironment) async throws -> Value?
        ) async throws -> Value? {
            guard case .ledger(let location, let arguments) = self else { return nil }
            let named = try arguments.text("environment").map {
                try SignedDataOptions.environment(named: $0, among: [.production, .sandbox, .xcode])
            }
            let clock = try await SimulatorClock.started(by: arguments)
            let result = try await location.withOwnDatabase { database -> Value? in
                let app = try Self.app(of: database, arguments)
                do {
                    let ledger = try await CustomerLedger(
                        of: database, app: app, clock: clock ?? SystemClock(), realClock: SystemClock(),
                        makePseudonym: { UUID().uuidString.lowercased() })
                    let found = try named.map { [$0] } ?? ledger.environments(of: id)
                    guard found.count < 2 else {
                        let names = found.map(\.rawValue).joined(separator: " and ")
                        throw UsageError("the customer is in \(names); choose one with --environment")
                    }
                    guard let environment = found.first else { return nil }
                    return try await body(ledger, environment)
                } catch let error as EntitlementServerError
                    where [.unknownApp, .invalidConfiguration].contains(error.code)
                {
                    throw UsageError(error.reason)
                }
            }
            await clock?.stop()
            return result
        }

        /// Returns the app with the rules by which its server computes answers. Throws `UsageError` if the ledger has
        /// several apps and none is named, and for rules that the ledger has itself.
        private static func app(
            of database: any SQLDatabase, _ arguments: Arguments
        ) throws -> EntitlementService.Configuration.App {
            let apps = try LedgerReplay.apps(in: database)
            let named: BundleID? = try arguments.identifier("bundle-id")
            guard let bundleID = named ?? (apps.count == 1 ? apps[0] : nil) else {
                let names = apps.map(\.rawValue).joined(separator: ", ")
                throw UsageError(
                    apps.isEmpty ? "the ledger has no app" : "the ledger has \(names); choose one with --bundle-id")
            }
            for name in ["features", "transfer-mode"]
            where arguments.text(name) != nil && database.dialect != .sqlite {
                throw UsageError("--\(name) is for SQLite; a ledger in PostgreSQL has the features and the mode")
            }
            var app = EntitlementService.Configuration.App(bundleID: bundleID)
            if let path = arguments.text("features") {
                app.features = try CatalogueCommands.featureMap(in: path)
                app.credits = try ServePlan.credits(in: path)
            }
            app.transferMode = try arguments.choice("transfer-mode") ?? .transfer
            return app
        }
    }
}
