import HTTPCore
import Testing

@testable import InAppStore

struct DownloadRequestTests {
    private let version = ContentVersion(entityTag: "\"a\"", lastModified: "Thu, 01 Jan 1970 00:00:00 GMT")

    private func request(_ received: Int = 0, of total: Int? = nil, piece: Int? = 100) -> DownloadRequest {
        DownloadRequest(
            DownloadState(version: received > 0 ? version : ContentVersion(), total: total, received: received),
            piece: piece)
    }

    @Test func `a request has the range of the next piece, and the stored version`() {
        #expect(request().headers["Range"] == "bytes=0-99" && request().headers["If-Range"] == nil)
        #expect(request(50, of: 80).headers["Range"] == "bytes=50-79")
        #expect(request(50, of: 80).headers["If-Range"] == "\"a\"")
        #expect(request(50, of: 80, piece: nil).headers["Range"] == nil)
        var unversioned = DownloadState(received: 50)
        #expect(DownloadRequest(unversioned, piece: 100).part == nil)
        unversioned.version.lastModified = "yesterday"
        #expect(DownloadRequest(unversioned, piece: 100).headers["If-Range"] == "yesterday")
    }

    @Test func `a part that follows the stored bytes is accepted`() {
        let headers: HTTPHeaders = ["Content-Range": "bytes 50-79/80", "ETag": "\"a\""]
        let after = DownloadState(version: version, total: 80, received: 50)
        #expect(request(50, of: 80).responseKind(status: 206, headers, length: 30) == .body(after, count: 30))
        #expect(request(50).responseKind(status: 206, headers, length: nil) == .body(after, count: 30))
    }

    @Test(arguments: [
        ["Content-Range": "bytes 50-79/80", "ETag": "\"b\""], ["Content-Range": "bytes 50-79/81", "ETag": "\"a\""],
    ])
    func `a part of another version is not accepted`(headers: [String: String]) {
        let headers = HTTPHeaders(headers.map { .init(name: $0.key, value: $0.value) })
        #expect(request(50, of: 80).responseKind(status: 206, headers, length: nil) == .otherVersion)
    }

    @Test(arguments: [
        "bytes 49-79/80", "bytes 51-79/80", "bytes 50-80/80", "bytes 50-79/*", "bytes 79-50/80", "bytes */80",
        "50-79/80",
        "bytes 50-79", "bytes 50-79/80/1", "bytes -50-79/80", "bytes 50-+79/80", "bytes 50-99999999999999999999/80", "",
        "bytes 50-60/80",
    ])
    func `a part with another range than requested, or a malformed one, is not accepted`(text: String) {
        let responseKind = request(50, of: 80).responseKind(
            status: 206, ["Content-Range": text, "ETag": "\"a\""], length: 30)
        #expect(responseKind == .noParts, "\(text)")
    }

    @Test func `a first part without a version is accepted only if it is the whole file`() {
        #expect(request().responseKind(status: 206, ["Content-Range": "bytes 0-99/200"], length: nil) == .noParts)
        #expect(
            request().responseKind(status: 206, ["Content-Range": "bytes 0-79/80"], length: nil)
                == .body(DownloadState(total: 80), count: 80))
        #expect(
            request().responseKind(status: 206, ["Content-Range": "bytes 0-99/200", "ETag": "W/\"a\""], length: nil)
                == .noParts, "Parts with a weak ETag cannot be joined.")
    }

    @Test func `a response with the whole file replaces the stored bytes`() {
        #expect(
            request(50, of: 80).responseKind(status: 200, ["ETag": "\"b\""], length: 90)
                == .body(DownloadState(version: ContentVersion(entityTag: "\"b\""), total: 90), count: 90))
        #expect(
            request(piece: nil).responseKind(status: 206, ["Content-Range": "bytes 0-9/10"], length: 10) == .refused)
        #expect(request(piece: nil).responseKind(status: 416, [:], length: nil) == .refused)
        #expect(request().responseKind(status: 416, [:], length: nil) == .noParts)
    }

    @Test func `a Retry-After that is not a valid number of seconds is ignored`() {
        for (text, pause) in [("7", Duration.seconds(7)), ("-1", nil), ("soon", nil), ("99999999", nil)] {
            #expect(request().responseKind(status: 503, ["Retry-After": text], length: nil) == .later(pause))
        }
    }
}
