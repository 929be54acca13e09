import Foundation
import Primitives

/// Resources that the app's platform keeps ready and hands out by tag, as `NSBundleResourceRequest` does on Apple's.
public protocol OnDemandResources: Sendable {
    /// Brings what has these tags to the device, and returns the folder that holds it.
    func folder(
        tags: Set<String>, progress: @escaping @Sendable (ContentProgress) -> Void
    ) async throws -> String
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

    /// Throws `StoreError` `contentMismatch`, `FileFailure`, and what the resources throw.
    public func fetch(
        _ order: ContentOrder, progress: @escaping @Sendable (ContentProgress) -> Void
    ) async throws -> FetchedContent {
        try check(order.parameters)
        let tags = order.parameters["tags"]?.arrayValue?.compactMap(\.stringValue) ?? []
        let folder = try await resources.folder(tags: Set(tags), progress: progress)
        let name = "\(order.productID).checksum"
        guard !name.contains("/"), let bytes = try DurableFile.read("\(folder)/\(name)", upTo: 64 << 10) else {
            throw StoreError(.contentMismatch, "The resources have no file \(name).")
        }
        let text = String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        guard text == order.parameters["checksum"]?.stringValue else {
            throw StoreError(.contentMismatch, "\(name) of the resources has another text than checksum.")
        }
        return .folder(path: folder)
    }
}
