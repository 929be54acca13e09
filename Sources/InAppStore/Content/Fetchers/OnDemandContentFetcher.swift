import Foundation
import Primitives

/// Resources that the app's platform keeps ready and hands out by tag, as `NSBundleResourceRequest` does on Apple's
/// (`BundleResources`).
public protocol OnDemandResources: Sendable {
    /// Brings what has these tags to the device, keeps it there until it is released, and returns the folder that holds
    /// the file `name`; `nil`, with nothing to release, when there is no such file among it. `progress` is told in bytes, or in the
    /// platform's own units where it has others.
    func folder(
        holding name: String, tags: Set<String>, progress: @escaping @Sendable (ContentProgress) -> Void
    ) async throws -> String?
    /// Undoes one call of `folder` that returned one.
    func release(tags: Set<String>) async
}

/// Takes content from on-demand resources:
/// `{"type": "OnDemandContentFetcher", "tags": ["film"], "checksum": "…"}`.
///
/// The folder must have a file named as the product with `.checksum` behind, and in it the same text: else the resources
/// are of another version of the app. To be given to `StoreConfiguration.contentFetchers` with the app's resources.
public struct OnDemandContentFetcher: ContentFetcher {
    public let types = ShippedContentFetcher.onDemand.types
    private let resources: any OnDemandResources

    public init(_ resources: any OnDemandResources) { self.resources = resources }

    public func check(_ parameters: JSONObject) throws { try ContentParametersLint.check(parameters) }

    /// Throws `PurchaseError` `contentMismatch`, an error that names a file, and what the resources throw.
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
            throw PurchaseError(.contentMismatch, "\(file) of the resources has another text than checksum.")
        }
    }
}
