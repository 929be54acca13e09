extension HTTPRequest {
    /// Whether the client ranks HTML above JSON in `Accept` (RFC 9110 section 12.5.1), as a browser does when it opens
    /// a page.
    package var prefersHTML: Bool { quality(of: "text", "html") > quality(of: "application", "json") }

    /// Returns the quality of a media type from 0 to 1. A type that no range in `Accept` matches has the quality 0.
    private func quality(of type: String, _ subtype: String) -> Double {
        let names = ["*/*", "\(type)/*", "\(type)/\(subtype)"]
        var best = (place: -1, quality: 0.0)
        for range in headers.values("Accept").flatMap({ $0.split(separator: ",") }) {
            let parts = range.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() }
            guard let name = parts.first, let place = names.firstIndex(of: name), place > best.place else { continue }
            let stated = parts.dropFirst().first { $0.hasPrefix("q=") }.map { Double($0.dropFirst(2)) ?? 0 }
            best = (place, min(max(stated ?? 1, 0), 1))
        }
        return best.quality
    }
}

extension HTTPResponse {
    /// Creates a response with a YAML document. Its type is `application/yaml` (RFC 9512), or plain text for a browser,
    /// which would save `application/yaml` as a file.
    package init(yaml: [UInt8], for request: HTTPRequest) {
        self.init(
            status: 200,
            headers: [
                "Content-Type": request.prefersHTML ? "text/plain; charset=utf-8" : "application/yaml",
                "Content-Disposition": "inline", "Vary": "Accept", "X-Content-Type-Options": "nosniff",
            ], body: .bytes(yaml))
    }
}
