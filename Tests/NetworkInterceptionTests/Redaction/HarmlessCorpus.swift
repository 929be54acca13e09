import HTTPCore
import NetworkInterception

/// What looks like a secret and is none: it has to stay byte for byte.
enum HarmlessCorpus {
    static let all: [Planted] = headers + urls + forms + json + markup + texts

    static let headers = [
        ("Accept", "text/html,application/json;q=0.9,*/*;q=0.8"), ("Content-Type", "application/json; charset=utf-8"),
        ("ETag", "W/\"0815-6f1ed002ab5595859014ebf0951522d9\""),
        ("If-None-Match", "\"d41d8cd98f00b204e9800998ecf8427e\""),
        ("X-Request-Id", "550e8400-e29b-41d4-a716-446655440000"), ("X-Correlation-ID", "8a7d5f0c9b2e4d61"),
        ("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"), ("CF-Ray", "7d1f0a2b3c4d5e6f-FRA"),
        ("Content-MD5", "1B2M2Y8AsgTpgAmY7PhCfg=="), ("Digest", "SHA-256=47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="),
        ("Idempotency-Key", "c1d7b3f0-6a2e-4d8b-9f11-3a5e7c9d0b24"), ("Cache-Control", "max-age=3600, must-revalidate"),
        ("Date", "Sun, 06 Nov 1994 08:49:37 GMT"), ("Server", "nginx/1.25.3"), ("Vary", "Authorization, Cookie"),
        ("Access-Control-Allow-Credentials", "true"), ("Access-Control-Allow-Headers", "Authorization, X-Api-Key"),
        ("WWW-Authenticate", "Bearer realm=\"api\", error=\"invalid_token\""), ("X-RateLimit-Limit-Tokens", "40000"),
        ("X-RateLimit-Remaining", "4999"), ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="), ("Range", "bytes=0-1023"),
        ("Link", "<https://h/items?page=3>; rel=\"next\""), ("Location", "/v1/items/42?sort=price"), ("Age", "12"),
        ("Strict-Transport-Security", "max-age=31536000; includeSubDomains"), ("X-Author", "Anna Author"),
        ("User-Agent", "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36"), ("X-Plan", "Basic plan"),
        ("X-Token-Type", "Bearer"), ("X-Next-Page-Token", "page-3"), ("Content-Length", "4111"),
        ("X-Country-Code", "DE"),
    ].map { Planted(place: .header($0.0), template: $0.1) }

    static let urls = [
        "https://h/v1/items?page=2&per_page=50&sort=-price", "https://h:8080/x", "https://h/passengers/42",
        "https://h/authors?author=anna", "https://h/tokenize?text=a%20b", "https://h/search?q=key+value",
        "https://h/?pageToken=CAUQAA&maxResults=5", "https://h/?nextToken=3",
        "https://h/products/com.example.pro.monthly",
        "https://h/?id=550e8400-e29b-41d4-a716-446655440000", "https://h/?compass=north&bypass=1",
        "https://h/reset-password", "https://h/tokens/42",
        "https://h/orders/550e8400-e29b-41d4-a716-446655440000/verify", "https://h/oauth/token/introspect",
        "https://h/auth/login",
        "https://h/password/reset/form", "https://h/assets/4b825dc642cb6eb9a060e54bf8d69288fbee4904/app.js",
        "https://h/?product=com.example.coins%2F100", "https://h/?country_code=DE&currencyCode=EUR", "https://h/a@b/c",
        "https://h/?email=anna%40example.com", "https://h/?from=2026-01-01T00%3A00%3A00Z",
        "https://h/?token_type=bearer",
        "https://h/?grant_type=password&scope=openid", "https://h/?keyword=password", "https://h/?monkey=1&turkey=2",
        "https://h/?appAccountToken=550e8400-e29b-41d4-a716-446655440000", "https://h/login?username=anna",
    ].map { Planted(place: .url, template: $0) }

    static let forms = [
        "page=1&sort=up", "username=anna&remember=true", "grant_type=refresh_token", "author=Anna&passenger=2",
        "q=a%3Db",
        "token_type=bearer&expires_in=3600", "amount=12.50&currency=EUR", "note=passwords+are+secret",
    ].map { Planted(place: .body("application/x-www-form-urlencoded"), template: $0) }

    static let json = [
        #"{"id":42,"uuid":"550e8400-e29b-41d4-a716-446655440000"}"#, #"{"price":9.990,"currency":"EUR"}"#,
        #"{"createdAt":"2026-11-22T12:00:00Z"}"#, #"{"passenger":"Anna","passengers":["Ben"]}"#, #"{"author":"anna"}"#,
        #"{"authors":[{"name":"Anna"}],"authority":"x"}"#, #"{"tokenize":"yes","tokenizer":"bpe","tokens":3}"#,
        #"{"max_tokens":1000,"prompt_tokens":12,"total_tokens":40}"#, #"{"token_type":"Bearer","expires_in":3600}"#,
        #"{"tokenType":"Bearer","tokenExpiry":3600}"#, #"{"nextPageToken":"CAUQAA"}"#, #"{"pageToken":"abc"}"#,
        #"{"appAccountToken":"550e8400-e29b-41d4-a716-446655440000"}"#, #"{"hasPassword":true,"password":null}"#,
        #"{"passwordRequired":true,"passwordChangedAt":"2026-01-01"}"#,
        #"{"passwordLength":12,"passwordPolicy":"strong"}"#,
        #"{"pass":12,"fail":3}"#, #"{"result":"pass"}"#, #"{"bypass":"yes","compass":"north","overpass":1}"#,
        #"{"code":"invalid_token","message":"The token has expired"}"#, #"{"status":"secret","kind":"password"}"#,
        #"{"key":"title","value":"Hello"}"#, #"{"key":"a","code":7}"#, #"{"keyId":"2X9R4HXF34","kid":"abc"}"#,
        #"{"publicKey":"04a1b2c3","primaryKey":"id"}"#, #"{"cacheKey":"items-42","sortKey":"a"}"#,
        #"{"etag":"\"6f1ed002ab5595859014ebf0951522d9\""}"#,
        #"{"sha256":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}"#,
        #"{"md5":"d41d8cd98f00b204e9800998ecf8427e","commit":"4b825dc642cb6eb9a060e54bf8d69288fbee4904"}"#,
        #"{"productId":"com.example.pro.monthly","quantity":1}"#, #"{"transactionId":"2000000123456789"}"#,
        #"{"originalTransactionId":"340001234567890","webOrderLineItemId":"1000000012345678"}"#,
        #"{"purchaseDate":1700000000000,"expiresDate":1702592000000}"#, #"{"bundle_id":"com.example.app"}"#,
        #"{"receipt":{"bundle_id":"com.example","in_app":[]}}"#, #"{"session":{"title":"Opening","room":"A"}}"#,
        #"{"username":"anna","email":"anna@example.com","login":"anna"}"#, #"{"spinner":true,"opinion":"good"}"#,
        #"{"pinned":true,"pins":3,"pinterest":"x"}"#, #"{"secretary":"Anna","secretaryOf":"Ben"}"#, #"{"auth":null}"#,
        #"{"description":"The password must have 8 characters"}"#, #"{"error":"password: must not be blank"}"#,
        #"{"error":"Unexpected token } in JSON at position 4"}"#, #"{"label":"Password:","next":"x"}"#,
        #"{"label":"Your password: ","next":"x"}"#,
        #"{"scopes":["token","password"],"required":["password","username"]}"#,
        #"{"type":"string","format":"password"}"#, #"{"ssid":"Home","bssid":"00:11:22:33:44:55"}"#,
        #"{"n":4111111111111111}"#,
        #"{"image":"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"}"#,
        #"{"mit":"MIT License","e":"eyJ"}"#,
        #"{"phone":"+49 30 1234567","zip":"10115","iban":"DE89 3704 0044 0532 0130 00"}"#,
        #"{"a": 1.0e2, "b": [1, 2,3] }"#,
        #"{"text":"tokenization of compass bearings, basic plan"}"#, #"{"locale":"sk-SK","task":"sk-translation"}"#,
        #"{"slug":"risk_live_view","path":"/api/v1/authors"}"#, #"{"discount":"20%","share":"%"}"#,
        #"{"token":false,"secret":true}"#,
        #"{"url":"https://h/items?page=2#top"}"#, #"{"time":"12:30","ratio":"16:9","urn":"urn:isbn:0451450523"}"#,
        #"{"idempotencyKey":"c1d7b3f0-6a2e-4d8b-9f11-3a5e7c9d0b24"}"#, #"{"cookieConsent":"all","cookies":true}"#,
        #"{"messageKey":"login.title","signedUp":true,"signature_count":2}"#,
        #"{"deviceId":"A1B2","hash":"9f86d081884c7d65"}"#, #"{"a":"","label":"Password:","next":"/x"}"#,
        #"{"labels":["User: ","Password: ","Token: "]}"#, #"{"label":" Password: ","next":"x"}"#,
        #"{"html":"<b title=\"Password: \">a</b>"}"#, #"{"js":"f('Password: ', \"Token: \", x)"}"#,
    ].map { Planted(place: .body("application/json"), template: $0) }

    static let markup = [
        "<r><passenger>Anna</passenger><author>Ben</author></r>",
        "<r><id>42</id><price currency=\"EUR\">9.99</price></r>",
        "<html><label>Password:</label><title>Reset your password</title></html>",
        "<r><token/><password></password></r>",
        "<html><input type=\"password\" name=\"password\"></html>", "<html><input name=\"q\" value=\"keys\"></html>",
        "<plist><dict><key>name</key><string>Anna</string></dict></plist>",
        "<r><key>title</key><value>Hello</value></r>",
        "<p><entry key=\"color\">red</entry></p>", "<r xmlns:auth=\"http://h/auth\"><auth:user>anna</auth:user></r>",
    ].map { Planted(place: .body("application/xml"), template: $0) }

    static let texts = [
        "Forgot your password? Write to help@example.com.",
        "The author tokenizes texts; passengers bypass the compass.",
        "usage: login <token>", "id: 42\nname: anna\n", "version: 2\nservices:\n  web:\n    image: nginx\n",
        "properties:\n  password:\n    type: string\n", "bearer of good news", "Basic authentication is required",
        "Bearer authentication", "a == b, c != d, token == nil", "key = value & more?", "PATH=/usr/bin:/bin\nLANG=C\n",
        "for key in keys: print(key)", "at 12:30:00 the ratio was 16:9", "2026-11-22 12:00:00 INFO started in 12 ms",
        "4111", "1234 5678 9012 3456", "-- a comment\nselect 1;", "--verbose --output file", "5 < 6 > 4 & 3",
        "-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----", "see https://example.com/a?b=c&d=e.",
        "é ü ß 漢字 🎉",
        "com.example.pro.yearly,9.99,EUR\ncom.example.coins,0.99,EUR\n", "The value of pi: 3.14159",
        "docker run -u 1000:1000 image", "tool -u https://example.com/a", "sort -u file", "run --user 1000:1000 image",
        "the password is set", "[\"Your password \",\"b\"]", "login anna, then the password page", "identified by name",
        "ssh -u h:22",
        "if token==null && a&&token==b {}", "f(a, password: must be set, b: 1)",
        "type A = { password: string, user: string }",
        "print(\"Password: \")", "print(f\"Password: \", end='')", "url = \"/login?token=\" + escape(x)",
        "prompt('Password: ') || \"token=\" + x", "it's a 'Password: ' field", "\"user: \"; \"password: \";",
        "`Password: `;",
        "a password that nobody knows", "path and passwords", "text = \"\"\"\na\n\"\"\"\n",
    ].map { Planted(place: .body("text/plain"), template: $0) }
}
