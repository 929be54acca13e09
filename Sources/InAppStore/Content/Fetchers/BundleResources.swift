import Foundation
import Primitives

#if canImport(UIKit)
    // UIKit exports the part of Foundation with on-demand resources.
    import UIKit

    /// The on-demand resources of an app in the App Store, which asset tags in Xcode define.
    ///
    ///     configuration.contentFetchers = [OnDemandContentFetcher(BundleResources())]
    ///
    /// Give all files of a product, including `PRODUCT.checksum`, one tag that no other file has. Add them as single
    /// files, or as a folder reference with the name of the product. The system may remove released resources when it
    /// needs space.
    public actor BundleResources: OnDemandResources {
        private let bundle: Bundle
        /// The requests whose resources are in use. The system keeps resources while a request for them exists.
        private var held: [NSBundleResourceRequest] = []
        private let pause: Duration
        private let sleep: @Sendable (Duration) async throws -> Void

        /// Creates the resources of a bundle.
        ///
        /// - Parameters:
        ///   - bundle: The bundle that declares the resources.
        ///   - pause: The time between two reports of the progress.
        ///   - sleep: Waits between two reports; throws if the task is cancelled.
        public init(
            bundle: Bundle = .main, pause: Duration = .milliseconds(250),
            sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
        ) {
            self.bundle = bundle
            self.pause = pause
            self.sleep = sleep
        }

        /// Loads resources, and returns the folder with the file `name`.
        ///
        /// - Parameters:
        ///   - name: The name of the file.
        ///   - tags: The tags of the resources.
        ///   - progress: Receives the progress.
        /// - Returns: The folder; `nil` if the resources have no such file.
        /// - Throws: `PurchaseError`: `diskFull`, `invalidContentFetcherParameters` for a tag that the app does not
        ///   have, `contentFetchFailed`; `CancellationError`.
        public func folder(
            holding name: String, tags: Set<String>, progress: @escaping @Sendable (ContentProgress) -> Void
        ) async throws -> String? {
            let request = NSBundleResourceRequest(tags: tags, bundle: bundle)
            let loading = request.progress
            let progressTask = Task { [pause, sleep] in
                while !Task.isCancelled {
                    if let current = ContentProgress(loading) { progress(current) }
                    try await sleep(pause)
                }
            }
            let (completion, continuation) = AsyncThrowingStream<Never, any Error>.makeStream()
            request.beginAccessingResources { continuation.finish(throwing: $0) }
            let failure = await Self.failure(of: completion)
            progressTask.cancel()
            _ = await progressTask.result
            guard !Task.isCancelled else {
                loading.cancel()
                throw CancellationError()
            }
            if let failure { throw PurchaseError.ofBundleResources(failure as NSError) }
            guard let folder = request.bundle.folder(holding: name) else {
                request.endAccessingResources()
                return nil
            }
            held.append(request)
            return folder
        }

        /// Releases the resources with these `tags`.
        public func release(tags: Set<String>) {
            guard let index = held.firstIndex(where: { $0.tags == tags }) else { return }
            held.remove(at: index).endAccessingResources()
        }

        private static func failure(of completion: AsyncThrowingStream<Never, any Error>) async -> (any Error)? {
            do {
                for try await _ in completion {}
                return nil
            } catch {
                return error
            }
        }
    }
#endif

extension Bundle {
    /// Returns the folder that contains the file. Searches the folder with the file's name without its extension, then
    /// the bundle itself.
    func folder(holding name: String) -> String? {
        let own = URL(fileURLWithPath: name).deletingPathExtension().lastPathComponent
        let file =
            url(forResource: name, withExtension: nil, subdirectory: own) ?? url(forResource: name, withExtension: nil)
        return file?.deletingLastPathComponent().path
    }
}

extension ContentProgress {
    /// Creates a progress; `nil` if the total is unknown.
    init?(_ progress: Progress) {
        guard progress.totalUnitCount > 0 else { return nil }
        self.init(received: progress.completedUnitCount, total: progress.totalUnitCount)
    }
}

extension PurchaseError {
    /// Converts an error of on-demand resources (Apple's documentation of `NSBundleResourceRequest`).
    static func ofBundleResources(_ error: NSError) -> any Error {
        let code: Code
        switch (error.domain, error.code) {
        case (NSCocoaErrorDomain, CocoaError.userCancelled.rawValue): return CancellationError()
        case (NSCocoaErrorDomain, 4992), (NSCocoaErrorDomain, 4993): code = .diskFull
        case (NSCocoaErrorDomain, 4994): code = .invalidContentFetcherParameters
        default: code = .contentFetchFailed
        }
        let sentence =
            switch code {
            case .diskFull:
                "There is no space for the on-demand resources. Free some space, or release other resources."
            case .invalidContentFetcherParameters: "tags: the app has no on-demand resources with one of these tags."
            default: "The on-demand resources could not be loaded: \(error.localizedDescription)"
            }
        return PurchaseError(code, sentence, underlying: error)
    }
}
