import Foundation
import InAppStore

func fetchContent(of product: String, from store: Store) async throws {
    for try await progress in store.fetchProductContent(product) {
        if let total = progress.total { print("\(progress.received) of \(total) bytes") }
    }
    guard let folder = store.contentLocation(product) else { return print("There is no content.") }
    let files = try FileManager.default.subpathsOfDirectory(atPath: folder).sorted()
    print("On this device: \(files.joined(separator: ", "))")
}
