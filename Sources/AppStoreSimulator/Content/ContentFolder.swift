import Foundation
import HTTPCore
import Primitives

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A handler that serves the files of a folder below `/content/`, for apps that download the content of products.
///
///     let content = try ContentFolder("/srv/packs")          // GET /content/film/pack.zip
///
/// Answers GET and HEAD with `ETag`, `Last-Modified` and byte ranges (RFC 9110 sections 13 and 14). The status is 404
/// for everything but regular files in the folder: for folders, devices, names with `..`, and symbolic links that lead
/// out.
package struct ContentFolder: HTTPHandler {
    package static let prefix = "/content/"

    /// The folder, without symbolic links.
    package let path: String

    /// Creates a handler. Throws `dataFolder` if the folder does not exist.
    package init(_ path: String) throws {
        guard let real = Self.resolved(path), let status = Self.status(real), status.isFolder else {
            throw SimulatorError(.dataFolder, "\(path) is not a folder; name the folder with the content to serve.")
        }
        self.path = real
    }

    package func respond(to request: HTTPRequest) -> HTTPReply {
        guard [.get, .head].contains(request.method) else {
            var refusal = HTTPProblem(
                status: 405, code: "method_not_allowed", title: "Method not allowed",
                detail: "Content can be requested with GET and HEAD only."
            ).response
            refusal.headers["Allow"] = "GET, HEAD"
            return .ready(refusal)
        }
        guard let name = Self.relativePath(of: request), let file = ServedFile(opening: name, in: path) else {
            return .ready(
                HTTPProblem(
                    status: 404, code: "not_found", title: "Not found", detail: "There is no content at this path."
                ).response)
        }
        return .ready(file.response(to: request))
    }

    /// The path inside the folder; `nil` for a path that no file can have.
    private static func relativePath(of request: HTTPRequest) -> String? {
        guard request.path.hasPrefix(prefix) else { return nil }
        var segments: [String] = []
        for part in request.path.dropFirst(prefix.count).split(separator: "/", omittingEmptySubsequences: false) {
            guard let segment = PercentEncoding.decode(part), !segment.isEmpty, segment != ".", segment != "..",
                !segment.utf8.contains(where: { $0 == 0 || $0 == UInt8(ascii: "/") })
            else { return nil }
            segments.append(segment)
        }
        return segments.joined(separator: "/")
    }

    static func resolved(_ path: String) -> String? {
        guard let real = realpath(path, nil) else { return nil }
        defer { free(real) }
        return String(cString: real)
    }

    static func status(_ path: String) -> FileStatus? {
        var buffer = stat()
        return stat(path, &buffer) == 0 ? FileStatus(buffer) : nil
    }
}

/// The metadata of a file from the system.
struct FileStatus: Sendable, Hashable {
    let size: Int
    /// The modification time in nanoseconds since 1970.
    let modified: Int64
    let inode: UInt64
    let isFolder: Bool
    let isRegular: Bool

    init(_ buffer: stat) {
        size = Int(buffer.st_size)
        #if canImport(Darwin)
            let time = buffer.st_mtimespec
        #else
            let time = buffer.st_mtim
        #endif
        modified = Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
        inode = UInt64(buffer.st_ino)
        isFolder = buffer.st_mode & S_IFMT == S_IFDIR
        isRegular = buffer.st_mode & S_IFMT == S_IFREG
    }
}

/// An open file for one response.
final class ServedFile: Sendable {
    let status: FileStatus
    private let name: String
    private let descriptor: Int32

    /// Opens a regular file inside `folder`; `nil` for anything else. The path of `folder` must have no symbolic links.
    init?(opening name: String, in folder: String) {
        guard let real = ContentFolder.resolved(folder + "/" + name),
            real.hasPrefix(folder == "/" ? folder : folder + "/")
        else { return nil }
        // Without O_NONBLOCK, opening a pipe would wait for its writer.
        descriptor = open(real, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        var buffer = stat()
        let isKnown = fstat(descriptor, &buffer) == 0
        status = FileStatus(buffer)
        self.name = name
        guard isKnown, status.isRegular else { return nil }
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// The entity tag. It changes with the file.
    var entityTag: String {
        "\"\(String(status.inode, radix: 16))-\(String(status.size, radix: 16))-\(String(status.modified, radix: 16))\""
    }

    func response(to request: HTTPRequest) -> HTTPResponse {
        let seconds = status.modified / 1_000_000_000
        var headers: HTTPHeaders = [
            "ETag": entityTag, "Last-Modified": HTTPDate.text(of: seconds), "Accept-Ranges": "bytes",
            "Cache-Control": "no-cache",
        ]
        let conditions = ConditionalRequest(request.headers)
        if conditions.isUnchanged(entityTag, modified: seconds) { return HTTPResponse(status: 304, headers: headers) }
        headers["Content-Type"] = ContentType.ofFile(named: name)
        headers["X-Content-Type-Options"] = "nosniff"
        switch conditions.range(of: status.size, entityTag, modified: seconds) {
        case .whole:
            return HTTPResponse(status: 200, headers: headers, body: body(0..<status.size))
        case .part(let range):
            headers["Content-Range"] = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(status.size)"
            return HTTPResponse(status: 206, headers: headers, body: body(range))
        case .unsatisfiable:
            var refusal = HTTPProblem(
                status: 416, code: "range_not_satisfiable", title: "Range not satisfiable",
                detail: "The content has \(status.size) bytes; the range begins after them."
            ).response
            refusal.headers["Content-Range"] = "bytes */\(status.size)"
            return refusal
        }
    }

    private static let chunk = 64 << 10

    private func body(_ range: Range<Int>) -> HTTPBody {
        guard !range.isEmpty else { return .empty }
        let position = Locked(range.lowerBound)
        return .stream(
            HTTPBodyStream(length: range.count) { [self] in
                let start = position.withLock { $0 }
                guard start < range.upperBound else { return nil }
                let bytes = try read(min(Self.chunk, range.upperBound - start), at: start)
                position.withLock { $0 = start + bytes.count }
                return bytes
            })
    }

    private func read(_ count: Int, at offset: Int) throws -> [UInt8] {
        try [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            var got = pread(descriptor, buffer.baseAddress, count, off_t(offset))
            while got < 0, errno == EINTR { got = pread(descriptor, buffer.baseAddress, count, off_t(offset)) }
            guard got > 0 else {
                throw HTTPError(.connectionFailed, "\(name) became shorter while it was being sent.")
            }
            initialized = got
        }
    }
}
