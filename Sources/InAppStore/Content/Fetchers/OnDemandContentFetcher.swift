import Foundation
import Primitives

/// Resources that the platform loads by tag, such as Apple's on-demand resources (`NSBundleResourceRequest`,
/// `BundleResources`).
public protocol OnDemandResources: Sendable {
    /// Loads the resources with these tags, keeps them until they are released, and returns the folder with the file
    /// `name`.
    ///
    /// - Parameters:
    ///   - name: The name of a file among the resources.
    ///   - tags: The tags of the resources.
    ///   - progress: Receives the progress, in bytes or in the platform's own units.
    /// - Returns: The folder; `nil`, with nothing to release, if the resources have no such file.
    /// - Throws: An error that says why the resources were not loaded.
    func folder(
        holding name: String, tags: Set<String>, progress: @escaping @Sendable (ContentProgress) -> Void
    ) async throws -> String?
    /// Releases the resources with these `tags`. It is called once for each call of `folder` that returned a folder.
    func release(tags: Set<String>) async
}

/// Fetches content from on-demand resources: `{"type": "OnDemandContentFetcher", "tags": ["film"], "checksum": "…"}`.
///
/// The folder must have a file with the product's id and the extension `.checksum`, which contains the same string as
/// the parameter `checksum`. Otherwise the resources belong to another version of the app. Add the fetcher to
/// `StoreConfiguration.contentFetchers`.
public struct OnDemandContentFetcher: ContentFetcher {
    public let types = ShippedContentFetcher.onDemand.types
    private let resources: any OnDemandResources

    /// Creates a fetcher of the app's `resources`.
    public init(_ resources: any OnDemandResources) { self.resources = resources }

    public func check(_ parameters: JSONObject) throws { try ContentParametersLint.check(parameters) }

    /// Loads the resources, and checks their checksum.
    ///
    /// - Parameters:
    ///   - order: The order, with tags and checksum among its parameters.
    ///   - progress: Receives the progress.
    /// - Returns: The folder of the resources.
    /// - Throws: `PurchaseError` with the code `contentMismatch`, the error of `resources`, or an error that names the
    ///   checksum file if it cannot be read.
    public func fetch(
        _ order: ContentOrder, progress: @escaping @Sendable (ContentProgress) -> Void
    ) async throws -> FetchedContent {
        try check(order.parameters)
        let name = "\(order.productID).checksum"
        guard !name.contains("/"),
            let folder = try await resources.folder(holding: name, tags: tags(of: order), progress: progress)
        else { throw PurchaseError(.contentMismatch, "The resources have no file \(name).") }
        do {
            try compare("\(folder)/\(name)", with: order.parameters["checksum"]?.stringValue)
        } catch {
            await release(order)
            throw error
        }
        return .folder(path: folder)
    }

    public func release(_ order: ContentOrder) async { await resources.release(tags: tags(of: order)) }

    private func tags(of order: ContentOrder) -> Set<String> {
        Set(order.parameters["tags"]?.arrayValue?.compactMap(\.stringValue) ?? [])
    }

    private func compare(_ file: String, with checksum: String?) throws {
        guard let bytes = try DurableFile.read(file, upTo: 64 << 10) else {
            throw PurchaseError(.contentMismatch, "The resources have no file \(file).")
        }
        let text = String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        guard text == checksum else {
            throw PurchaseError(.contentMismatch, "The content of \(file) differs from the parameter checksum.")
        }
    }
}
