import Foundation
import PluginHub
import Primitives

/// The content fetchers of this library, by their `type`. A type may have the prefix `BZR` of earlier product lists.
enum ShippedContentFetcher: String, CaseIterable {
    /// Downloads an archive from `URL`.
    case remote = "RemoteContentFetcher"
    /// Uses an archive or a folder on the device, at the file URL `URL`.
    case local = "LocalContentFetcher"
    /// Uses on-demand resources with `tags`, and compares them with `checksum`.
    case onDemand = "OnDemandContentFetcher"
    /// Tries `fetchersParameters` in order.
    case fallback = "FallbackContentFetcher"

    init?(type: String) { self.init(rawValue: type.hasPrefix("BZR") ? String(type.dropFirst(3)) : type) }

    var types: Set<String> { [rawValue, "BZR\(rawValue)"] }
}

/// Finds errors in a product's content parameters. The remote, local and on-demand fetchers use the same checks.
struct ContentParametersLint {
    typealias Fault = (severity: ProductListFinding.Severity, pointer: String, reason: String)

    let ownFetchers: Set<String>

    /// Throws `invalidContentFetcherParameters` for the first finding, even for a warning of the linter: such content
    /// cannot be fetched either.
    static func check(_ parameters: JSONObject) throws {
        guard let fault = Self(ownFetchers: []).faults(parameters, at: "").first else { return }
        throw PurchaseError(.invalidContentFetcherParameters, "\(fault.pointer.dropFirst()): \(fault.reason).")
    }

    func faults(_ parameters: JSONObject, at pointer: String) -> [Fault] {
        guard let type = parameters["type"]?.stringValue, !type.isEmpty else {
            return [(.error, pointer + "/type", "the content fetcher (type) is missing")]
        }
        guard !ownFetchers.contains(type) else { return [] }
        switch ShippedContentFetcher(type: type) {
        case .remote: return remote(parameters["URL"], type, pointer + "/URL") + expectation(parameters, pointer)
        case .local: return local(parameters["URL"], type, pointer + "/URL") + expectation(parameters, pointer)
        case .onDemand: return onDemand(parameters, type, pointer)
        case .fallback: return fallback(parameters["fetchersParameters"], type, pointer + "/fetchersParameters")
        case nil:
            let known = ShippedContentFetcher.allCases.map(\.rawValue)
            let reason =
                "the store has no fetcher \"\(type)\", only \(known.joined(separator: ", ")); name your own fetchers to "
                + "the linter."
            return [(.error, pointer + "/type", reason + NearestName.hint(type, among: known + ownFetchers))]
        }
    }

    private func remote(_ value: JSONValue?, _ type: String, _ pointer: String) -> [Fault] {
        guard let url = value?.stringValue.flatMap(URL.init(string:)),
            ["https", "http"].contains(url.scheme?.lowercased())
        else { return [(.error, pointer, "\(type) needs the URL of an archive, https: or http:")] }
        guard let host = url.host, !host.isEmpty else {
            return [(.warning, pointer, "\"\(url)\" has no host, so \(type) can fetch nothing from it")]
        }
        guard url.scheme?.lowercased() == "http", !url.isLoopback else { return [] }
        return [
            (
                .error, pointer,
                "\(type) fetches from \(host) with https: only; http: is permitted only on the loopback interface"
            )
        ]
    }

    /// Checks the expected size and digest of an archive, if they are set.
    private func expectation(_ parameters: JSONObject, _ pointer: String) -> [Fault] {
        var faults: [Fault] = []
        if let size = parameters["size"], size.intValue.map({ $0 < 0 }) ?? true {
            faults.append((.error, pointer + "/size", "the size of an archive must be a number of bytes"))
        }
        if let digest = parameters["sha256"], digest.stringValue.flatMap({ Hex.decode($0) })?.count != 32 {
            faults.append((.error, pointer + "/sha256", "the SHA-256 of an archive must have 64 hexadecimal digits"))
        }
        return faults
    }

    private func local(_ value: JSONValue?, _ type: String, _ pointer: String) -> [Fault] {
        let url = value?.stringValue.flatMap(URL.init(string:))
        guard url?.scheme?.lowercased() != "file" else { return [] }
        return [(.error, pointer, "\(type) needs the URL of an archive or a folder on the device, file:")]
    }

    private func onDemand(_ parameters: JSONObject, _ type: String, _ pointer: String) -> [Fault] {
        var faults: [Fault] = []
        let tags = parameters["tags"]?.arrayValue ?? []
        if tags.isEmpty || tags.contains(where: { $0.stringValue == nil }) {
            faults.append((.error, pointer + "/tags", "\(type) needs the tags of the resources, an array of strings"))
        }
        if parameters["checksum"]?.stringValue == nil {
            faults.append((.error, pointer + "/checksum", "\(type) needs the checksum of the resources, a string"))
        }
        return faults
    }

    private func fallback(_ value: JSONValue?, _ type: String, _ pointer: String) -> [Fault] {
        guard let others = value?.arrayValue, !others.isEmpty else {
            return [(.error, pointer, "\(type) needs the parameters of other fetchers, an array of objects")]
        }
        return others.enumerated().flatMap { index, other in
            other.objectValue.map { faults($0, at: "\(pointer)/\(index)") }
                ?? [(.error, "\(pointer)/\(index)", "the parameters of a fetcher must be an object")]
        }
    }
}
