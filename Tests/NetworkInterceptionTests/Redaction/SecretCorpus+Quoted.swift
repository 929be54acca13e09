extension SecretCorpus {
    /// Headers in logs and commands, with quoted strings in their values.
    static let quotedHeaders = [
        #"Cookie: sid="§"; a=1"#, #"2026-11-26 GET /x Authorization: Token token="§""#,
        #"Authorization: Digest username="anna", realm="r", response="§""#, #"authorization: OAuth oauth_token="§""#,
        #"Proxy-Authorization: Digest username="anna", response="§""#, #"curl -H 'Authorization: Token token="§"' h"#,
        #"curl -H "Authorization: Token token=\"§\"" h"#, #"Authorization: Hawk id="a", mac="§", ext="b""#,
    ].map { Planted(place: .body("text/plain"), template: $0) }

    /// The same headers in JSON strings, which must stay strings.
    static let quotedHeadersInJSON = [
        #"{"log":"Authorization: Digest username=\"anna\", response=\"§\"","b":2}"#,
        #"{"log":"GET / Authorization: Digest username=\"anna\", response=\"§\"","b":2}"#,
        #"{"cmd":"curl -H \"Authorization: Token token=\\\"§\\\"\" https://x","b":2}"#,
        #"{"log":"authorization: Token token=\"§\""}"#, #"{"log":"Cookie: a=\"x\"; b=\"§\""}"#,
        #"{"log":"Cookie: a=\"§\"; b=2"}"#, #"{"log":"Set-Cookie: a=\"x\"; Path=/\nX-Api-Key: §"}"#,
        #"{"headers":"Authorization: Signature keyId=\"a\",signature=\"§\"\r\nAccept: */*"}"#,
        #"{"headers":[["Accept","*/*"],["X-Api-Key","§"]]}"#, #"[["Authorization", "Token token=§"]]"#,
        #"{"kty":"EC","crv":"P-256","x":"a","y":"b","d":"§"}"#, #"{"d":"§","kty":"OKP"}"#, #"{"kty":"oct","k":"§"}"#,
    ].map { Planted(place: .body("application/json"), template: $0) }

    /// Secrets in the syntax of Java, LDIF, PHP, Rust, Go and curl.
    static let dialects = [
        "{Authorization=[Bearer §], Accept=[*/*]}", "headers=[Authorization=[Token §], Accept=[*/*]]",
        "{Authorization=(Bearer §)}", "{Accept=[*/*], Set-Cookie=[a=b; Path=/, tok=§; HttpOnly]}",
        "{x-auth-token=[a, §]}", "{password=[a §]}", "API_KEY=[ab]§\nx=1", "a=1\nDB_PASS=(ab)§\n",
        "DB_PASSWORD={ab}§\n", "dn: cn=a\nuserPassword: {SSHA}/§\n", "password: {cipher}§\n",
        "userPassword: {MD5}§==\n", "define( 'DB_PASSWORD', '§' );", "define ('AUTH_KEY' , '§');",
        "define( 'LOGGED_IN_KEY', '§' );", "os.environ[ \"DB_PASSWORD\" ] = \"§\"", "let token: &str = \"§\";",
        "const API_KEY: &'static str = \"§\";", "var apiKey string = \"§\"", "const password string = \"§\"",
        "curl -su anna:§ https://h", "curl -fsSLu \"anna:§\" https://h", "curl -kuanna:§ https://h",
        "see https://hooks.slack.com/commands/§ here",
    ].map { Planted(place: .body("text/plain"), template: $0) }

    static let rareNames = [
        "CVV2", "cardCVV2", "CVV2_CODE", "Cvc2", "fb_exchange_token", "exchangeToken", "asyncToken", "psk", "wpa_psk",
        "transactionKey", "JWT_KEY", "bindpw", "totp_seed", "unlock_key", "privkey", "TokenCode",
        "otp_attempt", "sesskey", "_wpnonce", "verify_code", "client_key", "snmpCommunity",
    ].flatMap { name in
        [
            Planted(place: .body("application/json"), template: "{\"\(name)\":\"§\"}"),
            Planted(place: .body("application/x-www-form-urlencoded"), template: "a=1&\(name)=§&b=2"),
            Planted(place: .body("application/yaml"), template: "\(name): §\n"),
            Planted(place: .body("application/xml"), template: "<a><\(name)>§</\(name)></a>"),
        ]
    }

    /// Base64 that ends in padding, before the quote that ends its string.
    static let padded = ["Bearer §=", "Bearer §==", "Basic §=", "basic §==", "Token §=", "ApiKey §=="].flatMap {
        credentials in
        [
            Planted(place: .body("application/json"), template: "{\"a\":1,\"x\":\"\(credentials)\"}"),
            Planted(place: .body("application/json"), template: "[[\"X-Custom\",\"\(credentials)\"]]"),
            Planted(place: .body("application/json"), template: "{\"error\":\"bad credentials: \(credentials)\"}"),
            Planted(place: .body("application/xml"), template: "<r x=\"\(credentials)\"/>"),
            Planted(place: .body("text/csv"), template: "1,\"\(credentials)\",2\n"),
            Planted(place: .header("X-Custom"), template: "{\"x\": \"\(credentials)\"}"),
        ]
    }

    static let arguments = [
        "args:\n- --password\n- §\n", "args:\n  - run\n  - --api-key\n  - \"§\"\n  - --verbose\n",
        "<props><prop key=\"password\">§</prop></props>",
    ].map { Planted(place: .body("application/yaml"), template: $0) }

    static let digests = [
        "argon2$argon2id$v=19$m=102400,t=2,p=8$§§", "$1$a1b2c3d4$§", "{SSHA}§§", "{SHA}§§", "$P$B§§", "$H$9§§",
        "scrypt:32768:8:1$a1b2c3$§§", "pbkdf2:sha256:600000$a1b2$§§", "$pbkdf2-sha256$29000$a1b2$§§",
        "SCRAM-SHA-256$4096:§§",
    ].map { Planted(place: .body("text/plain"), template: "see \($0) here") }
}
