import CArchive
import CBuildInfo
import CCurl
import CMicrohttpd
import COpenSSL
import CSQLite
import Primitives

/// `souk version`.
enum VersionCommand {
    /// The version that `CHANGELOG.md` describes.
    static let version = "0.2.0"

    static let command = Command(
        words: ["version"], summary: "Print the version, the commit and the linked libraries",
        options: [.init(name: "json", help: "print one JSON value")]
    ) { arguments in
        let commit = String(cString: souk_build_commit())
        var libraries: [(String, String)] = [
            ("openssl", String(cString: OpenSSL_version(OPENSSL_VERSION_STRING))),
            ("sqlite", String(cString: sqlite3_libversion())),
            ("libmicrohttpd", String(cString: MHD_get_version())),
            ("libcurl", curlVersion), ("libarchive", archiveVersion),
        ]
        if let heapVersion { libraries.append(("mimalloc", heapVersion)) }
        if arguments.has("json") {
            try Terminal.print(json: [
                "version": .string(version), "commit": .string(commit),
                "libraries": .object(JSONMembers(libraries.map { ($0.0, .string($0.1)) })),
            ])
        } else {
            try Terminal.print("souk \(version) (\(commit))")
            for (name, version) in libraries { try Terminal.print("\(name) \(version)") }
        }
        return .success
    }

    /// The version of mimalloc, which reports 209 for 2.0.9; `nil` with the heap of the C library.
    private static var heapVersion: String? {
        let number = souk_mimalloc_version()
        return number == 0 ? nil : "\(number / 100).\(number / 10 % 10).\(number % 10)"
    }

    /// The version of libarchive, which reports `libarchive 3.6.2`.
    private static var archiveVersion: String {
        String(cString: archive_version_string()).split(separator: " ").last.map(String.init) ?? "unknown"
    }

    /// The version of libcurl, which reports `libcurl/7.88.1` as its first word.
    private static var curlVersion: String {
        let words = String(cString: curl_version()).split(separator: " ")
        return words.first?.split(separator: "/").last.map(String.init) ?? "unknown"
    }
}
