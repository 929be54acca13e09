import HTTPCore
import Testing

@testable import InAppStore

struct DownloadRequestTests {
    private let version = ContentVersion(entityTag: "\"a\"", lastModified: "Thu, 01 Jan 1970 00:00:00 GMT")

    private func question(_ received: Int = 0, of total: Int? = nil, piece: Int? = 100) -> DownloadRequest {
        DownloadRequest(
            DownloadState(version: received > 0 ? version : ContentVersion(), total: total, received: received),
            piece: piece)
    }

    @Test func `a question asks for the next piece of the version that is there`() {
        #expect(question().headers["Range"] == "bytes=0-99" && question().headers["If-Range"] == nil)
        #expect(question(50, of: 80).headers["Range"] == "bytes=50-79")
        #expect(question(50, of: 80).headers["If-Range"] == "\"a\"")
        #expect(question(50, of: 80, piece: nil).headers["Range"] == nil)
        var unversioned = DownloadState(received: 50)
        #expect(DownloadRequest(unversioned, piece: 100).part == nil)
        unversioned.version.lastModified = "yesterday"
        #expect(DownloadRequest(unversioned, piece: 100).headers["If-Range"] == "yesterday")
    }

    @Test func `a part that follows what is there is taken`() {
        let headers: HTTPHeaders = ["Content-Range": "bytes 50-79/80", "ETag": "\"a\""]
        let after = DownloadState(version: version, total: 80, received: 50)
        #expect(question(50, of: 80).responseKind(status: 206, headers, length: 30) == .body(after, count: 30))
        #expect(question(50).responseKind(status: 206, headers, length: nil) == .body(after, count: 30))
    }

    @Test(arguments: [
        ["Content-Range": "bytes 50-79/80", "ETag": "\"b\""], ["Content-Range": "bytes 50-79/81", "ETag": "\"a\""],
    ])
    func `a part of another version is not`(headers: [String: String]) {
        let headers = HTTPHeaders(headers.map { .init(name: $0.key, value: $0.value) })
        #expect(question(50, of: 80).responseKind(status: 206, headers, length: nil) == .otherVersion)
    }

    @Test(arguments: [
        "bytes 49-79/80", "bytes 51-79/80", "bytes 50-80/80", "bytes 50-79/*", "bytes 79-50/80", "bytes */80",
        "50-79/80",
        "bytes 50-79", "bytes 50-79/80/1", "bytes -50-79/80", "bytes 50-+79/80", "bytes 50-99999999999999999999/80", "",
        "bytes 50-60/80",
    ])
    func `a part that was not asked for is none`(text: String) {
        let responseKind = question(50, of: 80).responseKind(
            status: 206, ["Content-Range": text, "ETag": "\"a\""], length: 30)
        #expect(responseKind == .noParts, "\(text)")
    }

    @Test func `a first part without a version is taken only when it is everything`() {
        #expect(question().responseKind(status: 206, ["Content-Range": "bytes 0-99/200"], length: nil) == .noParts)
        #expect(
            question().responseKind(status: 206, ["Content-Range": "bytes 0-79/80"], length: nil)
                == .body(DownloadState(total: 80), count: 80))
        #expect(
            question().responseKind(status: 206, ["Content-Range": "bytes 0-99/200", "ETag": "W/\"a\""], length: nil)
                == .noParts, "a weak version joins nothing")
    }

    @Test func `everything takes the place of what is there`() {
        #expect(
            question(50, of: 80).responseKind(status: 200, ["ETag": "\"b\""], length: 90)
                == .body(DownloadState(version: ContentVersion(entityTag: "\"b\""), total: 90), count: 90))
        #expect(
            question(piece: nil).responseKind(status: 206, ["Content-Range": "bytes 0-9/10"], length: 10) == .refused)
        #expect(question(piece: nil).responseKind(status: 416, [:], length: nil) == .refused)
        #expect(question().responseKind(status: 416, [:], length: nil) == .noParts)
    }

    @Test func `a pause that is no number of seconds is the asker's to choose`() {
        for (text, pause) in [("7", Duration.seconds(7)), ("-1", nil), ("soon", nil), ("99999999", nil)] {
            #expect(question().responseKind(status: 503, ["Retry-After": text], length: nil) == .later(pause))
        }
    }
}
