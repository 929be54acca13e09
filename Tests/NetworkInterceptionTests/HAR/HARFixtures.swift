/// HAR files as browsers, Charles and Insomnia write them, with the members that these programs add.
enum HARFixtures {
    static let all: [(name: String, text: String)] = [
        ("Chrome", chrome), ("Firefox", firefox), ("Safari", safari), ("Charles", charles), ("Insomnia", insomnia),
    ]

    static let chrome = #"""
        {
          "log": {
            "version": "1.2",
            "creator": {"name": "WebInspector", "version": "537.36"},
            "pages": [{"startedDateTime": "2026-03-01T10:00:00.123Z", "id": "page_2", "title": "https://shop.example/",
                       "pageTimings": {"onContentLoad": 301.4499999932013, "onLoad": null}}],
            "entries": [
              {
                "_connectionId": "341", "_initiator": {"type": "script", "stack": {"callFrames": [{"lineNumber": 1}]}},
                "_priority": "High", "_resourceType": "fetch", "cache": {}, "connection": "443", "pageref": "page_2",
                "request": {
                  "method": "POST", "url": "https://shop.example/v1/orders?lang=de&lang=en", "httpVersion": "h3",
                  "headers": [{"name": ":authority", "value": "shop.example"}, {"name": "content-type", "value": "application/json"},
                              {"name": "x-a", "value": "1"}, {"name": "X-A", "value": "2"}],
                  "queryString": [{"name": "lang", "value": "de"}, {"name": "lang", "value": "en"}],
                  "cookies": [{"name": "sid", "value": "a", "path": "/", "domain": "shop.example", "expires": "2026-04-01T10:00:00.000Z",
                               "httpOnly": true, "secure": true, "sameSite": "Lax"}],
                  "headersSize": -1, "bodySize": 11, "postData": {"mimeType": "application/json", "text": "{\"order\":1}"}
                },
                "response": {
                  "status": 201, "statusText": "", "httpVersion": "h3",
                  "headers": [{"name": "set-cookie", "value": "a=1"}, {"name": "set-cookie", "value": "b=2"}],
                  "cookies": [], "content": {"size": 9, "mimeType": "application/json", "text": "{\"id\":\"\ud83d\"}"},
                  "redirectURL": "", "headersSize": -1, "bodySize": -1, "_transferSize": 95, "_error": null
                },
                "serverIPAddress": "[2001:db8::1]", "startedDateTime": "2026-03-01T10:00:00.500Z", "time": 30.25000000372529,
                "timings": {"blocked": 2.1, "dns": -1, "ssl": -1, "connect": -1, "send": 0.15, "wait": 27.5,
                            "receive": 0.5000000037252903, "_blocked_queueing": 1.8}
              },
              {
                "_resourceType": "image", "cache": {}, "pageref": "page_2",
                "request": {"method": "GET", "url": "https://shop.example/blocked.png", "httpVersion": "", "headers": [],
                            "queryString": [], "cookies": [], "headersSize": -1, "bodySize": 0},
                "response": {"status": 0, "statusText": "", "httpVersion": "", "headers": [], "cookies": [],
                             "content": {"size": 0, "mimeType": "x-unknown"}, "redirectURL": "", "headersSize": -1, "bodySize": -1,
                             "_transferSize": 0, "_error": "net::ERR_BLOCKED_BY_CLIENT"},
                "serverIPAddress": "", "startedDateTime": "2026-03-01T10:00:00.600Z", "time": null,
                "timings": {"blocked": -1, "dns": -1, "ssl": -1, "connect": -1, "send": 0, "wait": 0, "receive": null}
              }
            ]
          }
        }
        """#

    static let firefox = #"""
        {"log": {"version": "1.2", "creator": {"name": "Firefox", "version": "140.0"}, "browser": {"name": "Firefox", "version": "140.0"},
          "pages": [{"id": "page_1", "pageTimings": {"onContentLoad": -1, "onLoad": 812}, "startedDateTime": "2026-03-01T11:00:00.000+01:00",
                     "title": "Shop"}],
          "entries": [{"startedDateTime": "2026-03-01T11:00:00.010+01:00", "request": {"bodySize": 9, "method": "POST",
            "url": "http://shop.example/login", "httpVersion": "HTTP/1.1", "headers": [{"name": "Host", "value": "shop.example"}],
            "cookies": [{"name": "k", "value": "v"}], "queryString": [], "headersSize": 310,
            "postData": {"mimeType": "application/x-www-form-urlencoded", "params": [{"name": "a", "value": "1 2"}, {"name": "b", "value": ""}],
                         "text": "a=1+2&b="}},
            "response": {"status": 302, "statusText": "Found", "httpVersion": "HTTP/1.1", "headers": [{"name": "Location", "value": "/home"}],
              "cookies": [{"name": "s", "value": "x", "samesite": "None"}],
              "content": {"mimeType": "image/png", "size": 4, "encoding": "base64", "text": "iVBORw=="},
              "redirectURL": "/home", "headersSize": 120, "bodySize": 124}, "cache": {},
            "timings": {"blocked": 1, "dns": 0, "connect": 4, "ssl": 3, "send": 0, "wait": 21, "receive": 2}, "time": 28,
            "_securityState": "insecure", "serverIPAddress": "192.0.2.7", "connection": "80", "pageref": "page_1"},
          {"startedDateTime": "2026-03-01T11:00:01.000+01:00", "request": {"bodySize": 0, "method": "GET", "url": "http://ads.example/",
            "httpVersion": "", "headers": [], "cookies": [], "queryString": [], "headersSize": 0},
            "response": {"status": 0, "statusText": "", "httpVersion": "", "headers": [], "cookies": [],
              "content": {"mimeType": "text/plain", "comment": "Response bodies are not included."}, "redirectURL": "", "headersSize": -1,
              "bodySize": -1}, "cache": {}, "timings": {}, "time": 0, "pageref": "page_1"}]}}
        """#

    static let safari = #"""
        {"log": {"version": "1.2", "creator": {"name": "WebKit Web Inspector", "version": "1.0"},
          "pages": [{"startedDateTime": "2026-03-01T12:00:00.250Z", "id": "page_0", "title": "https://shop.example/",
                     "pageTimings": {"onContentLoad": 210.5, "onLoad": 402.25}}],
          "entries": [{"pageref": "page_0", "startedDateTime": "2026-03-01T12:00:00.300Z", "time": 84.1280000000,
            "request": {"method": "GET", "url": "https://shop.example/a?b", "httpVersion": "HTTP/2", "cookies": [],
              "headers": [{"name": "Accept", "value": "*/*"}], "queryString": [{"name": "b", "value": ""}], "headersSize": 40, "bodySize": 0},
            "response": {"status": 200, "statusText": "OK", "httpVersion": "HTTP/2", "cookies": [], "headers": [],
              "content": {"size": 26, "compression": 6, "mimeType": "text/plain", "text": "abcdefghijklmnopqrstuvwxyz"},
              "redirectURL": "", "headersSize": 90, "bodySize": 20, "_transferSize": 110},
            "cache": {}, "timings": {"blocked": 3, "dns": 12.5, "connect": 33.128, "ssl": 20.1, "send": 0.5, "wait": 34, "receive": 1},
            "serverIPAddress": "192.0.2.9", "connection": "9", "_fetchType": "Network Load", "_priority": "medium"}]}}
        """#

    static let charles = #"""
        {"log":{"version":"1.2","creator":{"name":"Charles Proxy","version":"5.0"},"entries":[{"startedDateTime":"2026-03-01T13:00:00.5+0100",
        "time":90,"request":{"method":"PUT","url":"http://shop.example/raw","httpVersion":"HTTP/1.1","cookies":[],
        "headers":[{"name":"Host","value":"shop.example"},{"name":"Transfer-Encoding","value":"chunked"}],"queryString":[],
        "postData":{"mimeType":"application/octet-stream","params":[]},"headersSize":77,"bodySize":16},
        "response":{"_charlesStatus":"COMPLETE","status":204,"statusText":"No Content","httpVersion":"HTTP/1.1","cookies":[],"headers":[],
        "content":{"size":0,"mimeType":"","text":""},"redirectURL":"","headersSize":0,"bodySize":0},"serverIPAddress":"192.0.2.1",
        "cache":{},"timings":{"dns":1,"connect":5,"ssl":0,"send":1,"wait":80,"receive":1},"comment":"slow?"}]}}
        """#

    static let insomnia = #"""
        {"log":{"version":"1.2","creator":{"name":"Insomnia REST Client","version":"insomnia.desktop.app:v11"},
        "entries":[{"startedDateTime":"2026-03-01T14:00:00.000Z","time":42.5,"request":{"method":"GET","url":"http://shop.example/x",
        "httpVersion":"HTTP/1.1","cookies":[],"headers":[],"queryString":[],"headersSize":-1,"bodySize":-1,"settingEncodeUrl":true},
        "response":{"status":200,"statusText":"OK","httpVersion":"HTTP/1.1","cookies":[],"headers":[],"content":{"size":2,"mimeType":"text/plain",
        "text":"ok"},"redirectURL":"","headersSize":-1,"bodySize":-1},"cache":{},"timings":{"blocked":-1,"dns":-1,"connect":-1,"send":0,
        "wait":42.5,"receive":0,"ssl":-1},"comment":"Get x"}]}}
        """#
}
