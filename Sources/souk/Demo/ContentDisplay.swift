import Foundation
import HTTPCore

/// Shows the progress of a download on standard error: a bar on a terminal, elsewhere a line for each quarter.
struct ContentDisplay {
    private let what: String
    private let isQuiet: Bool
    private var bar: ProgressBar?
    private var quarter = -1

    init(_ what: String, isQuiet: Bool) {
        self.what = what
        self.isQuiet = isQuiet
    }

    mutating func show(_ received: Int, of total: Int) {
        guard !isQuiet, total > 0 else { return }
        let bytes = "\(Self.megabytes(received)) of \(Self.megabytes(total)) MB"
        if Terminal.showsProgress {
            bar = bar ?? ProgressBar(what, of: total, after: .zero)
            bar?.show(received, bytes)
        } else if received * 4 / total > quarter {
            quarter = received * 4 / total
            Terminal.note("\(what): \(bytes)")
        }
    }

    func end() { bar?.end() }

    /// Formats a size with one decimal.
    static func megabytes(_ bytes: Int) -> String {
        let tenths = (bytes + 50_000) / 100_000
        return "\(tenths / 10).\(tenths % 10)"
    }
}

/// A transport with a pause before each request, so that a person can watch transfers over loopback.
struct DelayedTransport: HTTPTransport {
    let network: any HTTPTransport
    let pause: Duration

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        try await Task.sleep(for: pause)
        return try await network.send(request)
    }
}
