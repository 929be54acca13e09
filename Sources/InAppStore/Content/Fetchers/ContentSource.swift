import Foundation
import HTTPCore
import Primitives

/// The location of an archive, and its expected size and digest, from a product's parameters.
struct ContentSource: Sendable {
    let url: URL
    /// The expected number of bytes.
    let size: Int?
    let sha256: [UInt8]?

    /// Reads the parameters. Throws `invalidContentFetcherParameters`, which names the member.
    init(_ parameters: JSONObject) throws {
        try ContentParametersLint.check(parameters)
        guard let url = parameters["URL"]?.stringValue.flatMap(URL.init(string:)) else {
            throw PurchaseError(.invalidContentFetcherParameters, "URL: it is missing or invalid.")
        }
        self.url = url
        size = parameters["size"]?.intValue
        sha256 = parameters["sha256"]?.stringValue.flatMap { Hex.decode($0) }
    }

    /// Checks a file. Throws `contentMismatch` if its size or digest differs, and `FileFailure` if it cannot be read.
    func check(_ file: String) throws {
        if size == nil, sha256 == nil { return }
        let descriptor = open(file, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw FileFailure("read", file, errno) }
        defer { close(descriptor) }
        var (digest, count) = (SHA256(), 0)
        var buffer = [UInt8](repeating: 0, count: 256 << 10)
        while true {
            try Task.checkCancellation()
            let read = DurableFile.retrying { Foundation.read(descriptor, &buffer, buffer.count) }
            guard read >= 0 else { throw FileFailure("read", file, errno) }
            if read == 0 { break }
            count += read
            if sha256 != nil { digest.update(buffer[..<read]) }
        }
        try check(size: count)
        guard let sha256 else { return }
        guard digest.finalize() == sha256 else {
            throw PurchaseError(.contentMismatch, "The content's SHA-256 differs from its parameters (sha256).")
        }
    }

    /// Checks a size. Throws `contentMismatch` if it differs.
    func check(size actual: Int) throws {
        guard let size, size != actual else { return }
        throw PurchaseError(
            .contentMismatch, "The content has \(actual) bytes. Its parameters require \(size) (size).")
    }
}

extension URL {
    /// Whether the host of the URL is this device: `localhost` or a loopback address.
    var isLoopback: Bool {
        guard let host = host?.lowercased() else { return false }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return ["localhost", "::1", "[::1]"].contains(host)
            || parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }
}
