import CurlTransport
import Foundation
import HTTPCore
import Primitives
import SignedData
import StoreModel

/// Options and output that `souk jws` and `souk receipt` share: trust anchors, checks, and the format of results.
enum SignedDataOptions {
    static let accepted: [Command.Option] = [
        .init(name: "bundle-id", value: "B", help: "the expected bundle id"),
        .init(
            name: "environment", value: "E",
            help: "the expected environment: production, sandbox, xcode or localTesting",
            choices: environmentNames + [StoreEnvironment.localTesting.rawValue]),
    ]
    /// The names of the environments of a server.
    static let environmentNames = [StoreEnvironment.production, .sandbox, .xcode].map(\.rawValue)
    static let trusted: [Command.Option] = [
        .init(name: "root", value: "FILE", repeats: true, help: "a root to trust instead of Apple's, DER or PEM"),
        .init(name: "at", value: "T", help: "check the certificates at this time, not at the signed date"),
        .init(name: "online", help: "check the revocation of the certificates (OCSP)"),
    ]
    static let json = Command.Option(name: "json", help: "print one JSON value")

    /// The options of `verify` that have no effect on `inspect`, which accepts them so that a script can replace one
    /// command with the other.
    static func ignored(_ options: [Command.Option]) -> [Command.Option] {
        options.map { .init(name: $0.name, value: $0.value, repeats: $0.repeats, help: "", isHidden: true) }
    }

    static func environments(from arguments: Arguments) throws -> Set<AppStoreEnvironment>? {
        guard let text = arguments.text("environment") else { return nil }
        let environment = try environment(named: text, among: [.production, .sandbox, .xcode, .localTesting])
        if [.xcode, .localTesting].contains(environment), arguments.texts("root").isEmpty {
            Terminal.note("Data of \(text) is not trusted without --root: give the certificate that signed it.")
        }
        return [AppStoreEnvironment(rawValue: environment.appleText)]
    }

    static func environment(named text: String, among known: [StoreEnvironment]) throws -> StoreEnvironment {
        guard let environment = known.first(where: { $0.rawValue == text }) else {
            let names = known.map(\.rawValue)
            let list = names.dropLast().joined(separator: ", ") + (names.last.map { " or \($0)" } ?? "")
            throw UsageError("--environment is \(list), not \(text.quoted)")
        }
        return environment
    }

    /// Returns Apple's roots, or the certificates in the given files.
    static func anchors(from arguments: Arguments) throws -> [TrustAnchor] {
        let files = arguments.texts("root")
        return files.isEmpty ? TrustAnchor.apple : try anchors(in: files)
    }

    static func anchors(in files: [String]) throws -> [TrustAnchor] {
        try files.flatMap { file in
            do {
                return try TrustAnchor.certificates(in: try InputFile.read(file))
            } catch let error as SignedDataError {
                throw UsageError("\(file): \(error.reason)")
            }
        }
    }

    /// Returns a checker that sends OCSP requests; `nil` without `--online`.
    static func revocation(from arguments: Arguments) -> RevocationChecker? {
        guard arguments.has("online") else { return nil }
        return RevocationChecker(configuration: .init(post: ocspTransport(timeout: .seconds(10))))
    }

    /// Returns the function that posts OCSP requests.
    static func ocspTransport(timeout: Duration) -> @Sendable (URL, [UInt8]) async throws -> [UInt8] {
        let transport = CurlTransport.platformDefault()
        return { url, question in
            let response = try await transport.send(
                HTTPRequest(
                    method: .post, url: url.absoluteString, headers: ["Content-Type": "application/ocsp-request"],
                    body: .bytes(question), timeout: timeout))
            guard response.status == 200 else {
                throw Failure("\(url.absoluteString) answered with status \(response.status)")
            }
            return try await response.body.collect(upTo: 64 << 10)
        }
    }

    static func noteUnchecked(_ what: String, _ option: String, _ arguments: Arguments, found: String? = nil) {
        guard arguments.text(option) == nil else { return }
        Terminal.note("The \(what)\(found.map { ", \($0)," } ?? "") was not checked; give --\(option) to check it.")
    }

    static func report(_ error: SignedDataError, asJSON: Bool) throws -> ExitStatus {
        if asJSON {
            try Terminal.print(json: [
                "error": [
                    "code": .string(error.code.rawValue), "reason": .string(error.reason),
                    "retryable": .bool(error.isRetryable),
                ]
            ])
        } else {
            Terminal.note("souk: not valid (\(error.code)): \(error.reason)")
        }
        return .failure
    }

    static func json(of certificates: [Certificate]) -> JSONValue {
        .array(
            certificates.map { certificate in
                [
                    "subject": .string(certificate.subject),
                    "notBefore": .string(RFC3339.string(from: certificate.validity.lowerBound)),
                    "notAfter": .string(RFC3339.string(from: certificate.validity.upperBound)),
                    "sha256": .string(Hex.encode(certificate.fingerprint)),
                ]
            })
    }
}
