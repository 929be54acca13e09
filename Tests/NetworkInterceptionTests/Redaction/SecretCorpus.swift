import HTTPCore
import NetworkInterception
import Testing

/// A text somewhere in traffic. In templates `§` is a secret of letters and digits, `¤` one of digits.
struct Planted: Sendable, CustomTestStringConvertible {
    enum Place: Sendable {
        case header(String)
        case url
        /// A body of this media type, in this encoding.
        case body(String, Encoding = .utf8)
        case error
    }

    enum Encoding: Sendable, CaseIterable {
        case utf8, utf16LE, utf16BE, utf16LEWithMark, utf16BEWithMark, utf32LEWithMark, utf32BEWithMark
    }

    let place: Place
    let template: String

    var testDescription: String { "\(place) \(template)" }

    func text(_ secret: String, digits: String) -> String {
        template.replacing("§", with: secret).replacing("¤", with: digits)
    }

    /// A record with this text in the request and in the response.
    func record(_ secret: String, digits: String) -> Record {
        let text = text(secret, digits: digits)
        var request = HTTPRequest(method: .post, url: "https://api.example.com/v1/items?page=2")
        var response = Response(status: 200)
        switch place {
        case .header(let name):
            request.headers.add(name, text)
            response.headers.add(name, text)
        case .url:
            request.url = text
            response.headers.add("Location", text)
        case .body(let type, let encoding):
            if !type.isEmpty {
                request.headers.add("Content-Type", type)
                response.headers.add("Content-Type", type)
            }
            request.body = .bytes(encoding.bytes(text))
            response.body = request.body
        case .error: break
        }
        var record = Record(request)
        if case .error = place {
            record.result = .failure(HTTPError(.connectionFailed, text))
        } else {
            record.result = .success(response)
        }
        return record
    }
}

extension Planted.Encoding {
    func bytes(_ text: String) -> [UInt8] {
        switch self {
        case .utf8: Array(text.utf8)
        case .utf16LE: text.utf16.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)] }
        case .utf16BE: text.utf16.flatMap { [UInt8($0 >> 8), UInt8(truncatingIfNeeded: $0)] }
        case .utf16LEWithMark: [0xFF, 0xFE] + Self.utf16LE.bytes(text)
        case .utf16BEWithMark: [0xFE, 0xFF] + Self.utf16BE.bytes(text)
        case .utf32LEWithMark:
            [0xFF, 0xFE, 0, 0]
                + text.unicodeScalars.flatMap { scalar in
                    (0..<4).map { UInt8(truncatingIfNeeded: scalar.value >> (8 * $0)) }
                }
        case .utf32BEWithMark:
            [0, 0, 0xFE, 0xFF]
                + text.unicodeScalars.flatMap { scalar in
                    (0..<4).map { UInt8(truncatingIfNeeded: scalar.value >> (8 * (3 - $0))) }
                }
        }
    }
}

/// Secrets in all parts of traffic.
enum SecretCorpus {
    static let all: [Planted] =
        headers + headerValues + queries + urls + forms + members + nested + objects + escaped + markup + settings
        + quoted
        + blocks + wideBlocks + yamlInStrings + multipart + shapes + wide + declared + errors
        + dialects + quotedHeaders + quotedHeadersInJSON + rareNames + arguments + digests + padded

    private static func list(_ place: Planted.Place, _ templates: [String]) -> [Planted] {
        templates.map { Planted(place: place, template: $0) }
    }

    private static func words(_ text: String) -> [String] { text.split { $0 == " " || $0 == "\n" }.map(String.init) }

    static let headers = words(
        """
        Authorization Proxy-Authorization Cookie Set-Cookie Cookie2 apikey api-key X-API-Key X-ApiKey X-Api-Secret
        PRIVATE-TOKEN Deploy-Token JOB-TOKEN X-Gitlab-Token X-Vault-Token X-Consul-Token X-Auth-Token X-Auth-Key X-Auth
        X-Access-Token X-Refresh-Token X-Id-Token X-Session-Token X-Session-Id X-CSRF-Token X-XSRF-TOKEN DPoP
        X-Amz-Security-Token X-Goog-Api-Key X-Shopify-Access-Token X-Plex-Token X-Figma-Token Circle-Token DD-API-KEY
        DD-APPLICATION-KEY X-Algolia-API-Key X-RapidAPI-Key Ocp-Apim-Subscription-Key X-Functions-Key
        CF-Access-Client-Secret X-Parse-REST-API-Key X-Parse-Master-Key X-Redmine-API-Key X-NuGet-ApiKey X-License-Key
        X-Password Tokens X-Tokens Access-Tokens X-User-Password X-OTP X-GitHub-OTP X-Webhook-Secret X-Hub-Signature-256 X-Slack-Signature
        Stripe-Signature X-Twilio-Signature Signature X-Forwarded-Authorization X-Original-Authorization X-Sentry-Auth
        Souk-Customer-Token X-Postmark-Server-Token X-JWT-Assertion X-Client-Secret Authentication-Info X-HMAC
        Authentication Fastly-Key X-Gotify-Key X-Mashape-Key
        """
    ).map { Planted(place: .header($0), template: "§") }

    static let headerValues = list(
        .header("X-Custom"),
        [
            "Bearer §", "bearer §", "BEARER §", "Token §", "Basic dXNlcjpQTEFOVEVEeEs5bVEydlQ=§", "ApiKey §", "SSWS §",
            "DPoP §", "OAuth §", "token=§", "a=1; session_id=§", "v=1,signature=§", "t=1700000000, sig=§",
            "Credential=§/20260101/eu/s3/aws4_request", "https://h/?token=§",
            "<https://h/?access_token=§>; rel=\"next\"",
            "{\"token\":\"§\"}", "%7B%22token%22%3A%22§%22%7D", "eyJhbGciOiJIUzI1NiJ9.§.§", "ghp_§", "user password=§",
            "/x?password=it's§", "user=a, password=b §", "user=a; password=b §; x=1", "bearer, §",
            "v1.chat, base64url.bearer.authorization.k8s.io.§",
        ])

    static let queries = words(
        """
        token access_token accessToken ACCESS_TOKEN refresh_token id_token id_token_hint auth_token authtoken csrf_token
        api_key apikey apiKey key pass passwd password pwd pw new_password newPassword password_confirmation
        user%5Bpassword%5D user[password] client_secret secret shared_secret code auth authorization credential
        credentials sig signature X-Amz-Signature X-Amz-Credential X-Goog-Signature AWSAccessKeyId SAMLResponse
        SAMLRequest code_verifier oauth_token oauth_verifier oauth_signature session sid sessionid PHPSESSID jwt otp pin
        ticket subscription-key hmac sharedAccessSignature oobCode oob_code wresult SAMLart signed_request
        """
    ).map { Planted(place: .url, template: "https://h.example/x?page=1&\($0)=§&sort=up") }

    static let urls = list(
        .url,
        [
            "https://§@h/x", "https://anna:§@h/x", "ftp://anna:§@h:21/x", "https://h/x#access_token=§&state=1",
            "https://h/x;jsessionid=§?page=1", "https://h/cb?next=https%3A%2F%2Fi%2F%3Ftoken%3D§%26a%3D1",
            "https://h/cb?next=https%253A%252F%252Fi%252F%253Ftoken%253D§",
            "https://h/r/https%3A%2F%2Fi%2F%3Ftoken%3D§",
            "https://h/r/https%3A%2F%2Fanna%3A§%40i%2F", "https://h/?q=%7B%22password%22%3A%22§%22%7D",
            "https://h/?q={%22password%22:%22§%22}", "https://h/?q=password%3D§", "https://h/?q=password%3A%20§",
            "https://h/verify/eyJhbGciOiJIUzI1NiJ9.§", "https://hooks.slack.com/services/T00000000/B00000000/§",
            "https://discord.com/api/webhooks/123456789/§", "https://api.telegram.org/bot123456789:§/getMe",
            "https://h/x?pass%77ord=§", "https://h/?authorization=Bearer%20§", "https://h/?h=Authorization%3A+Bearer+§",
            "https://h/reset-password/§", "https://h/password/reset/§?lang=de", "https://h/token/§",
            "https://h/token/1a%2B§", "https://h/token/1a+§/b", "https://h/token/1a%2f§", "https://h/token/1a!§",
            "/v1/verify/§/done", "https://h/verify-email/§",
            "https://h/api_key/§/items", "https://t.webhook.office.com/webhookb2/§/x", "/relative?code=§", "?token=§",
            "https://h/?ids=1&token[]=§", "https://h/?a=1&amp;token=§",
            "https://h/x?pem=-----BEGIN%20EC%20PRIVATE%20KEY-----%0AMHc/a/§%0A", "https://h/?token=it's§",
            "https://h/?token=a'(§)&b=1", "https://h/?token=a\"§", "https://h/?token=a<b>§",
            "https://h/?token=a\\§", "https://h/?token=a §&b=1", "https://h/?token==§",
            "https://h/?%2570assword=§", "https://h/?a=1&p%252561ss%2577ord=§&b=2",
            "https://h/?user%255Bpassword%255D=§",
            "/reset/MQ/bxyz12-§/", "https://h/accounts/reset/Mjc/bxyz12-§/?a=b", "https://h/email/verify/17/§",
            "/user/reset/17/1700000000/§", "https://h/reset-password/MTIz/§", "/v1/invite/42/§",
            "/confirm/MQ==/§", "/confirm/MQ%3D%3D/§?a=b",
        ])

    static let forms = list(
        .body("application/x-www-form-urlencoded"),
        [
            "password=§&page=1", "user=a&password=§", "user=a&newPassword=§&page=1",
            "grant_type=password&client_secret=§",
            "grant_type=authorization_code&code=§&code_verifier=x", "SAMLResponse=§&RelayState=/x", "otp=¤&user=a",
            "card_number=¤&x=1", "cvv=¤&x=1", "user%5Bpassword%5D=§", "data=%7B%22token%22%3A%22§%22%7D",
            "pass%77ord=§", "session_id=§", "j_username=a&j_password=§", "payload=token%3D§",
            "x=%3Cpassword%3E§%3C%2Fpassword%3E", "header=Authorization%3A+Bearer+§", "api_key=§", "token=§", "_csrf=§",
            "%2570assword=§", "a=1&pass%2577ord=§&b=2",
            "x=1&data=-----BEGIN%20PRIVATE%20KEY-----%0AMIGHAg/x%2By/§%0A-----END%20PRIVATE%20KEY-----",
            "data=-----BEGIN%20OPENSSH%20PRIVATE%20KEY-----%0Ab3Bl/§", "q=%7B%27password%27%3A%27/§%27%7D",
            "next=/login%3Fpassword%3Da/§", "user=a&password=it's§&x=1", "password=a'(§)", "user=a&password=a\"§&x=1",
            "user=a&password=a<b>§&x=1",
            "user=a&password=a\\§&x=1", "password=a b §&x=1", "user=a&password=a#§", "user=a&password==§",
            "password==§&x=1",
            "password=a\n§", "data={\"password\":\"§\"}",
        ])

    static let memberNames = words(
        """
        tokenString passwordStr passwordBase64 secret_key_base access_token_v2 api_key_v2 apiKeyV2 clientSecretV10
        csrf unsealKey tlsKey password Password PASSWORD newPassword new_password oldPassword currentPassword confirmPassword
        passwordConfirmation password_confirm password2 userPassword passwd pwd user_pwd pass userPass passphrase
        passcode passwordHash secret clientSecret client_secret sharedSecret webhookSecret secretKey secretValue
        aws_secret_access_key token accessToken access_token refreshToken idToken authToken sessionToken csrfToken
        customerToken deviceToken purchaseToken tokenValue apiKey api_key apikey privateKey signingKey encryptionKey
        masterKey accessKey accountKey authorization Authorization credential credentials creds auth jwt jws assertion
        samlResponse sessionId session_id sessionID SESSIONID sid session otp totp otpCode mfaCode verificationCode
        verification_code authorizationCode securityCode recoveryCode pin pinCode cvv cvc cvv2 cardNumber card_number
        creditCard connectionString mnemonic seedPhrase codeVerifier securityAnswer receipt receipt-data latestReceipt
        unlockCode activationKey storageKey pgpKey gpgKey emailCode pairingCode signedPayload signedTransaction signedTransactionInfo magicLink cookie Set-Cookie
        """)

    static let members =
        memberNames.map { Planted(place: .body("application/json"), template: "{\"a\":1,\"\($0)\":\"§\",\"b\":2}") }
        + ["otp", "pin", "cvv", "password", "token", "sessionId", "verificationCode"].map {
            Planted(place: .body("application/json"), template: "{\n  \"\($0)\" : ¤,\n  \"b\" : 2\n}")
        }

    static let nested = list(
        .body("application/json"),
        [
            #"{"text":"password=b\"§\""}"#, #"{"text":"x = 1\npassword = @\"§\";"}"#,
            #"{"text":"f(password=(\"§\"))"}"#,
            #"{"args":["curl","-u","anna:§"]}"#, "[\"curl\", \"-U\",\n \"anna:a b§\"]", #"{"a":"['-u', 'anna:§']"}"#,
            #"{"a":"[\"-u\",\"anna:§\"]"}"#, #"["--user","anna:§"]"#,
            #"{"args":["run","--password","§"]}"#, #"{"args":["--api-key" , "§"]}"#, #"{"a":"[\"--token\", \"§\"]"}"#,
            #"{"name":"Authorization","values":["§","b"]}"#, #"{"field":"password","oldValue":"a","newValue":"§"}"#,
            #"{"attributeName":"otp","attributeValue":"§"}"#, #"{"param":"token","val":"§"}"#,
            #"{"pin":{"plain":"§"}}"#, #"{"password_enc":"§"}"#, #"{"tokenRaw":"§"}"#, #"{"jwt_string":"§"}"#,
            #"{"verification_value":"¤"}"#,
            #"{"a":[{"b":{"password":"§"}}]}"#, #"{"credentials":{"user":"a","x":"§"}}"#, #"{"tokens":["§","b"]}"#,
            #"{"recoveryCodes":["§"]}"#, #"{"inner":"{\"password\":\"§\"}"}"#,
            #"{"inner":"{\"deep\":\"{\\\"token\\\":\\\"§\\\"}\"}"}"#,
            #"{"inner":"{\u0022password\u0022:\u0022§\u0022}"}"#,
            #"{"html":"{&quot;password&quot;:&quot;§&quot;}"}"#, #"{"html":"{&#34;password&#34;:&#34;§&#34;}"}"#,
            #"{"pass\u0077ord":"§"}"#, #"{"password":"a\"b§"}"#, #"{"password":"§"#, #"{"a":1,,"password":"§"}"#,
            #"{"url":"https://h/?token=§"}"#, #"{"url":"https:\/\/anna:§@h\/"}"#,
            #"{"url":"https:\/\/h\/?a=1\u0026sig=§"}"#,
            #"{"query":"mutation { login(password: \"§\") { id } }"}"#,
            #"{"query":"query Q($password: String! = \"§\") { a }"}"#,
            #"{"query":"query Q($password:String=\"§\"){a}"}"#,
            #"{"query":"query Q($accessToken: String = \"§\") { a }"}"#,
            #"{"query":"{login(password:\n  \"§\"){id}}"}"#,
            #"{"query":"{login(user: \"a\", password:\n    \"§\"){id}}"}"#, #"{"log":"a\npassword: §\nb"}"#,
            #"{"log":"user=anna password=§ ok"}"#, #"{"message":"Authorization: Bearer §"}"#,
            #"{"curl":"curl -H 'X-Api-Key: §' https://h/"}"#, #"{"command":"login --password § --user a"}"#,
            #"{"headers":[{"name":"Authorization","value":"Bearer §"}]}"#, #"[{"key":"API_KEY","value":"§"}]"#,
            #"{"name":"password","type":"x","value":"§"}"#, #"{"xml":"<password>§</password>"}"#,
            #"{"xml":"<a token=\"§\"/>"}"#, #"{"text":"Bearer §"}"#, #"{"list":["a","ghp_§"]}"#,
            #"{"encoded":"%7B%22password%22%3A%22§%22%7D"}"#, #"{"env":"PASSWORD=§\nA=b"}"#, #"{'password': '§'}"#,
            #"{password: '§'}"#, #"{"password": "§ with blanks, and \\ more", "a": 1}"#, #"{"x":{"token" : "§"}}"#,
            #"{"inner":"{\n  \"token\" :\n  \"§\"\n}"}"#, #"{"yaml":"a: 1\npassword:\n  §\nb: 2\n"}"#,
            #"{"yaml":"a: 1\npassword: |\n  x\n  §\nb: 2\n"}"#, "data: {\"token\":\"§\"}\n\n",
            "data: {\"access_token\":\ndata: \"§\"}\n\n", "data:{\"access_token\":\r\ndata:\"§\"}\r\n\r\n",
            #"{"password":["§"]}"#,
            #"{"token":{"value":"§"}}"#, #"{"pin":{"value":¤}}"#, #"{"otp":{"a":{"b":1},"value":"§"}}"#,
            #"{"jwt":{"raw":"§"}}"#, #"{"cvv":{"hint":"}","value":["§"]}}"#, #"{"pin":{"stringValue":"§"}}"#,
            #"{"inner":"{\"cookie\":{\"path\":\"/\",\"value\":\"§\"}}"}"#, #"{'session':{'id':7,'value':'§'}}"#,
            #"{"jwt":"eyJhbGciOiJIUzI1NiJ9.§.x"}"#,
            #"{"receipts":["MIIUVQYJKoZIhvcNAQcCoIIURjCCFEICAQExDzANBglghkgBZQMEAgEFADCCA4s§"]}"#,
            "{\"b64\":\"ewogICJwYXNzd29yZCI6ICJ§\"}", #"{"password"=>"§"}"#, #"{:password=>"§"}"#, #"password := "§""#,
            #"{"token"/* mine */:"§"}"#, #"{"token": /* mine */ "§"}"#, "{\"password\": // mine\n  \"§\"}",
            #"{"/* a */password" /**/ : /**/ "§"}"#, #"{"command":"curl -u anna:§ https://h/"}"#,
            #"{"sql":"ALTER USER a PASSWORD '§'"}"#, #"{"query":"mutation{login(password:\"\"\"§\"\"\"){id}}"}"#,
            #"{"db":"Server=a;User Id=b;Password=p w§;Encrypt=true"}"#, #"{"db":"Server=a;Password=it's§"}"#,
            #"{"db":"Server=a;User Id=b;Password=\"p;w§\";Encrypt=true"}"#, #"{"url":"https://h/?token=it's§"}"#,
            #"{"note":"password = \"\"\"\n§\nmore \"quoted\"\n\"\"\"\nb = 2"}"#,
            #"[{"op":"replace","path":"/password","value":"§"}]"#,
            #"[{"op":"add","path":"/users/0/accessToken","value":"§"}]"#, #"[{"path":"/otp","op":"add","value":¤}]"#,
            #"[{"op":"add","path":"/tokens/-","value":"§"}]"#,
            #"[{"op":"add","path":"/credentials","value":{"x":"§"}}]"#,
            #"{"Operations":[{"op":"replace","path":"password","value":"§"}]}"#,
            #"{"name":"password","path":"/x","content":"§"}"#,
            #"{"php":"define(\"DB_PASSWORD\", \"§\");"}"#, #"{"py":"os.environ[\"DB_PASSWORD\"] = \"§\""}"#,
            #"{"name":"password","id":"7","value":"§"}"#, #"{"name":"password","key":"k","value":"§"}"#,
            #"{"key":"password","name":"Field","value":"§"}"#,
            #"{"key":"password","owner":{"id":1,"name":"a}"},"value":"§"}"#,
            #"{"name":"password","content":"text","value":"§"}"#, #"{'name':'password','hint':'}','id':7,'value':'§'}"#,
            #"{"inner":"{\"name\":\"password\",\"hint\":\"}\",\"id\":\"7\",\"value\":\"§\"}"}"#,
        ])

    /// Objects under names that make each string in them a secret.
    static let objects = words(
        "cvv pin pass auth jwt otp session cookie csrf cvc sid bearer mfa oauth cred dbpass assertion"
    )
    .map { Planted(place: .body("application/json"), template: "{\"\($0)\":{\"id\":7,\"value\":\"§\"},\"b\":2}") }

    /// Characters as serialisers escape them.
    static let escaped =
        list(
            .body("application/json"),
            [
                #"{"url":"https://h/?access_token\u003d§\u0026x\u003d2"}"#,
                #"{"form":"user\u003da\u0026password\u003d§"}"#,
                #"{"url":"https://h/?a\u003d1\u0026token=it\u0027s\u003d§"}"#,
                #"{"xml":"\u003cPassword\u003e§\u003c/Password\u003e"}"#,
                #"{"xml":"\u003CPassword a=\"b\"\u003E§\u003C/Password\u003E"}"#,
                #"{"a":"{\u0027password\u0027: \u0027§\u0027}"}"#,
                #"{"url":"https://h/?a=1&\u0074oken=§"}"#, #"{"sql":"IDENTIFIED BY \u0027§\u0027"}"#,
                #"{"note":"gh\u0070_§"}"#,
                #"{"pem":"-----BEGIN%20PRIVATE%20KEY-----%0AMC4/§"}"#,
                #"{"a":"{\"p\\u0061ssword\":\"§\"}"}"#,
                #"{"a":"{\"b\":\"{\\\"p\\\\u0061ssword\\\":\\\"§\\\"}\"}"}"#,
                #"{"a":"{\"url\":\"https://h/?token\\u003d§\"}"}"#, #"{"url":"postgres:\u002f\u002fanna:§@h/db"}"#,
                #"{"a":"{\u0022url\u0022:\u0022https://h/?token\u003d§\u0022}"}"#,
                #"{"xml":"&lt;token&gt;§&lt;/token&gt;"}"#,
            ])
        + list(
            .body("text/html"),
            [
                "<pre>{&#x27;password&#x27;: &#x27;§&#x27;}</pre>", "<pre>{&#39;password&#39;: &#39;§&#39;}</pre>",
                "<pre>{&#039;password&#039;: &#039;§&#039;}</pre>", "<a b=\"{&#x22;password&#x22;:&#x22;§&#x22;}\">",
                "<a>{&apos;password&apos;: &apos;§&apos;}</a>", "<a b='{&#34;password&#34;:[&#34;§&#34;]}'>",
                "<a href=\"https://h/?x&#x3D;1&amp;token&#x3D;§\">", "<a href=\"https://h/?x=1&#38;token&#61;§\">",
                "<s><a>&lt;Password&gt;§&lt;/Password&gt;</a></s>",
                "<s><a>&#60;Password&#62;§&#60;/Password&#62;</a></s>",
                "<s><a>&amp;lt;Password&amp;gt;§&amp;lt;/Password&amp;gt;</a></s>", "<s><a>&lt;Password&gt;§",
                "<s><a>&lt;c&gt;&lt;token a=&quot;b&quot;&gt;§&lt;/token&gt;</a></s>",
            ])

    static let markup = list(
        .body("application/xml"),
        [
            "<r><password>§</password></r>", "<r><ns:Password Type=\"text\">§</ns:Password></r>",
            "<r><apiKey>§</apiKey></r>",
            "<r><token><![CDATA[§]]></token></r>", "<r><credentials><user>a</user><x>§</x></credentials></r>",
            "<r><user password=\"§\" name=\"a\"/></r>", "<r><user token='§'/></r>",
            "<r><sessionId>\n  §\n</sessionId></r>",
            "<r><newPassword>§</newPassword><b>1</b></r>", "<r><pin>¤</pin></r>", "<r><password>§",
            "<plist><dict><key>password</key>\n<string>§</string></dict></plist>",
            "<resources><string name=\"api_key\">§</string></resources>", "<c><add key=\"ApiSecret\" value=\"§\"/></c>",
            "<p><entry key=\"db.password\">§</entry></p>", "<b><property name=\"password\" value=\"§\"/></b>",
            "<m><member><name>password</name><value><string>§</string></value></member></m>",
            "<s:Envelope><wsse:BinarySecurityToken Id=\"x\">§</wsse:BinarySecurityToken></s:Envelope>",
            "<samlp:Response><saml:Assertion ID=\"a\">§</saml:Assertion></samlp:Response>",
            "<html><input type=\"hidden\" name=\"csrf_token\" value=\"§\"></html>",
            "<html><meta name=\"csrf-token\" content=\"§\"></html>",
            "<html><input type=\"password\" value=\"§\"></html>",
            "<html><a href=\"https://h/?a=1&amp;token=§\">x</a></html>", "<r><url>https://anna:§@h/</url></r>",
            "<r><x>Bearer §</x></r>", "<r data-token=\"§\">x</r>",
            "<r><a:Key>password</a:Key><a:Value>§</a:Value></r>",
            "<r><key type=\"x\">password</key><value>§</value></r>",
            "<r><ns:name a='b' c=\"d\"> api_key </ns:name>\n<ns:value xsi:type=\"xs:string\">§</ns:value></r>",
            "<r><param-name>password</param-name><param-value>§</param-value></r>",
            "<r><init-param><param-name>x</param-name><param-value>a</param-value></init-param>"
                + "<p:param_name>db.password</p:param_name><p:param_value>§</p:param_value></r>",
            "<r><Attribute Name=\"password\"><AttributeValue>§</AttributeValue></Attribute></r>",
            "<r><saml:Attribute Name=\"otp\"><saml:AttributeValue a=\"b\">§</saml:AttributeValue></saml:Attribute></r>",
            "<r><c:entry key=\"password\">§</c:entry></r>", "<html><textarea name=\"token\">§</textarea></html>",
            "<r><name>password</name><!-- mine -->\n<value>§</value></r>",
            "<html><input name=\"password\" id=\"p\" value=\"§\"></html>",
            "<html><meta name=\"csrf-token\" id=\"m\" content=\"§\"></html>",
            "<html><input type=\"password\" name=\"login\" value=\"§\"></html>",
            "<html><input type=\"password\" id=\"x\" value=\"§\"></html>",
            "<html><input name=password pattern='}' id=x type=text value=§></html>",
            "<b><property name=\"password\" id=\"p1\" value=\"§\"/></b>",
            "<c><add key=\"password\" name=\"x\" value=\"§\"/></c>",
            "<r><password value=\"§\"/></r>", "<r><accessToken id=\"1\" value=\"§\"/></r>",
            "<r><wsse:Password Type=\"T\" Value=\"§\"/></r>", "<r><password hint='a>b' value='§'/></r>",
            "<r><pin value=\"¤\"></pin></r>", "<r><pin><value>¤</value></pin></r>",
            "<r><pin kind=\"a\">\n  <kind><of>x</of></kind>\n  <value>¤</value>\n</pin></r>",
            "<c:cvv><c:raw>§</c:raw></c:cvv>", "<c:session><id>7</id><value><![CDATA[§]]></value></c:session>",
            "<r><user password=\n\"§\"/></r>", "<r><user a=\"b\" token = \n  '/§'/></r>",
        ])

    static let settings =
        list(
            .body("application/yaml"),
            [
                "password: §\n", "a: 1\npassword: §\nb: 2\n", "db:\n  password: §\n  port: 5432\n",
                "db:\n  password: \"§\"\n", "db:\n  password: '§'\n", "db:\n  password: with blanks §\n",
                "api_key: §   # mine\n",
                "- token: §\n- a: 1\n", "key: |\n  a\nsecret: |\n  line\n  §\nb: 2\n",
                "secret: >-\n  §\n  more\nb: 2\n",
                "token:\n  §\nb: 2\n", "authorization:\n  §\nb: 2\n", "authorization: |\n  §\n  x\nb: 2\n",
                "tokens:\n  - a\n  - §\nb: 2\n",
                "user: {name: a, password: §}\n",
                "env:\n  - name: DB_PASSWORD\n    value: §\n", "env:\n  - name: DB_PASSWORD\n    id: 7\n    value: §\n",
                "\"password\": §\n", "'token' : '§'\n",
                "client-secret: §#x\n",
                "pin: ¤\n", "url: https://anna:§@h/\n", "header: Bearer §\n", "data:\n  password: §==\n",
                "Passwd : §\r\nb: 2\r\n", "password: # mine\n  §\nb: 2\n", "password: # §",
                "authorization: # mine\n  §\n",
                "authorization: a b\n  §\nb: 2\n",
                "a:\n  password: | # mine\n    x\n    §\n  b: 2\n",
                "tokens: # mine\n  - a\n  - §\n", "secret: >2-  # mine\n  §\n", "password: a\n  b §\nc: 2\n",
                "a:\n- password: a\n    b\n\n    §\n  c: 2\n", "password: 'a\n  b\n  §'\nc: 2\n", "password: 'a\n  §",
                "passwords:\n  anna: §\nb: 2\n", "x:\n  secrets:\n    a: b\n    c: \"§\"\n  d: 2\n",
                "MNEMONIC=the horse §\n",
                "SECRET_KEY=can not §\n", "password:\n# note\n  §\n", "password:\n  # note: a\n  §\nb: 2\n",
                "tokens:\n- a\n# note\n- §\nb: 2\n", "tokens:\n  - a\n# note\n\n  # more: x\n  - §\n",
                "passwords:\n  - anna: §\n", "passwords:\n- anna: a\n- ben: §\n",
                "secrets:\n  - name: x\n    value: §\n",
                "secrets:\n  - {name: x, value: §}\n", "passwords:\n  - \"admin: §\"\nb: 2\n",
                "passwords:\n- 'admin: §'\n", "tokens:\n  - admin:§\n", "token:\n  a:§\n", "passwords: &a\n- §\n",
                "passwords: !!seq\n- §\n", "password: &a !!str |\n  §\nb: 2\n", "password: !!str\n  §\n",
                "passwords: &all # mine\n  anna: §\n", "authorization: &a\n  §\n",
                "env:\n- name: ADMIN_PASSWORD\n  # c\n  value: §\n", "\"passwords\":\n  - a\n  - §\nb: 1\n",
                "\"tokens\" :\n# c\n- §\n", "card:\n  cvv: ¤\n", "pin:\n  value: ¤\n",
                "a: 1\npin:\n  kind: x\n  value: ¤\nb: 2\n",
                "pin:\n  # mine\n  \"value\": ¤\n", "session:\n  of:\n    id: 7\n  raw: §\n",
                "password:\n  value: §\nb: 2\n",
                "a:\n- pin:\n    value: ¤\n",
            ])
        + list(
            .body("text/plain"),
            [
                "query Q($password: String! = \"§\") { a }", "query Q($tokens: [String!]! = \"§\") { a }",
                "mutation { login(user: \"a\", password:\n  \"§\") { id } }", "const apiKey: string = \"§\"",
                "let password: String = \"§\"", "  private let password: String? = \"§\"", "var token: Token='§'",
                "def f(user: str = 'a', password: Optional[str] = '§')", "export const apiKey: string | null = `§`;",
                "os.environ[\"DB_PASSWORD\"] = \"§\"", "$config['password'] = '§';", "this[\"token\"]='§'",
                "define('DB_PASSWORD','§');", "define(\"API_KEY\", \"§\");", "localStorage.setItem('token', '§')",
                "r.setRequestHeader(\"X-Api-Key\", \"§\")", "print(1); setenv(\"DB_PASS\", \"§\", 1)",
                "password=b\"§\"", "password = rb'§'", "password = @\"§\";", "f(password=(\"§\"))", "password=(\"§\")",
                "[a]\ntokens = [\n  \"a\",\n  \"§\",\n]\nb = 1\n", "<a href=\"//anna:§@h/x\">", "see //anna:§@h/x",
                "password=§", "PASSWORD=§\nA=b", "export API_KEY=§\nA=b", "DB_PASS=\"§\"", "db.password=§&#x\nb=1",
                "token = §\n", "password = \"§\"", "user=anna password=§ ok", "user=anna, token=§, x=1",
                "login failed, password: § for anna", "Authorization: Bearer §", "> authorization: Basic §",
                "Cookie: a=b; session=§; c=d\nX: y", "curl -H 'X-Api-Key: §' https://h/",
                "curl -u anna https://anna:§@h/",
                "mysql --password=§ -u a", "tool --api-key § --verbose", "tool --token \"§\"", "sent Bearer § to h",
                "sent Basic § to h",
                "using token §a1", "GET /x?token=§ HTTP/1.1", "secret:§", "otp=¤ user=a", "{'password': b'§'}",
                "$password = '§';", "the passphrase is set, secret=§.", "Password := \"§\"", "x-api-key:§\nb:1",
                "password = \"\"\"§\"\"\"\n", "a = 1\ntoken = \"\"\"\nline\n§\nmore \"quoted\"\n\"\"\"\nb = 2\n",
                "secret = '''\n§\n'''\n", "curl -u anna:§ https://h/", "curl -sS -u 'anna:§' https://h/",
                "curl -uanna:§ https://h/", "curl --user anna:§ https://h/", "curl --proxy-user=anna:§ https://h/",
                "machine h login anna password §\n", "machine h\n  login anna\n  password §\n",
                "create user anna with password '§';", "CREATE USER anna IDENTIFIED BY \"§\"",
                "Login(user=anna, password=one two §, x=1)", "Login(password=one two §)",
                "a: {password: one two §, user: x}",
                "[user: x, password: Optional(\"§\")]", "Server=a;User Id=b;Password=p w §;x=1", "password=it's§ ok",
                "Server=a;AccountKey=a==;Password='p;w§'", "jdbc:mysql://h/db?user=a&password=it's§",
                "see https://h/?token==§ here", "UPDATE a SET password = 'it''s§'", "f(user='a', password='a''§')",
                "ALTER ROLE anna PASSWORD '§' VALID UNTIL '2027-01-01'", "const password = `§`;",
                #"{'a': 'password: |\n  x\n  §\nb: 2'}"#, #"const y = 'tokens:\n  - a\n  - §\n';"#,
                #"{'a': "it's", 'b': ['secret: >\r\n  x\r\n  §']}"#,
                "UPDATE `users` SET `password` = '§' WHERE id=1", "UPDATE u SET `u`.`api_token`='§', b = 1",
                "update u set `a` = 1, `password_hash` = \"/§\"",
                "CREATE USER a IDENTIFIED WITH caching_sha2_password BY '§'",
                "ALTER USER 'a'@'%' IDENTIFIED WITH 'mysql_native_password' AS '§'",
                "ALTER USER scott IDENTIFIED BY §", "create user a identified by §;",
                "create user a identified by values 'S:§'",
                "SET PASSWORD FOR 'a'@'h' = '§'", "set password for a = PASSWORD('§');", "SET `password`=N'§'",
                "create user a identified with `x` by \"§\" require ssl",
            ])
        + list(.body(""), ["password=§&n=a+b", "password=§ and more", "[db]\npassword = §\nport = 1\n", "token: §"])

    /// Values in quotation marks that begin with a character that can also follow the end of a string.
    static let quoted = ["/", "+", " ", ")", "]", "}", ">", ":", ";", ","].flatMap { sign in
        [
            ("text/plain", "USER=anna\nAWS_SECRET_ACCESS_KEY=\"\(sign)§\"\n"),
            ("text/plain", "a = b\napi_key = '\(sign)§'\n"),
            ("text/plain", "level=info user=\"anna\" password=\"\(sign)§\" x=1"),
            ("text/plain", "connect(user=\"a=\", password=\"\(sign)§\")"),
            ("text/plain", "print(\"Password: \"); password = \"\(sign)§\""),
            ("text/plain", "ALTER USER a WITH PASSWORD '\(sign)§';"), ("text/plain", "const apiKey = `\(sign)§`;"),
            ("application/yaml", "user: \"anna \"\npassword: \"\(sign)§\"\n"),
            ("application/xml", "<user name=\"anna \" first='' password=\"\(sign)§\"/>"),
            ("application/xml", "<r><user password='\(sign)§'/></r>"),
            ("text/html", "<meta name=\"csrf-token\" content=\"\(sign)§\">"),
            ("application/json", #"{"query":"mutation{login(user: \"a\", password: \"\#(sign)§\"){id}}"}"#),
            ("application/json", #"{"query":"mutation{login(password:\"\#(sign)§\"){id}}"}"#),
            ("application/json", #"{"sql":"PASSWORD '\#(sign)§'"}"#),
        ].map { Planted(place: .body($0.0), template: $0.1) }
            + list(.header("X-Custom"), ["password=\"\(sign)§\"", "user=\"a\", password=\"\(sign)§\""])
    }

    /// YAML texts, each as a body, as a JSON string, and as a JSON string in a JSON string.
    static let yamlInStrings = (settings + blocks).filter { $0.template.hasSuffix("\n") }.flatMap { planted in
        let string = inString(planted.template)
        return [#"{"a":1,"stack":\#(string),"b":[2]}"#, "{\"outer\":\(inString("{\"stack\": \(string)}"))}"].map {
            Planted(place: .body("application/json"), template: $0)
        }
    }

    private static func inString(_ text: String) -> String {
        let escaped = text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\r", with: "\\r")
        return "\"\(escaped.replacing("\n", with: "\\n"))\""
    }

    static let multipart = list(
        .body("multipart/form-data; boundary=b"),
        ["password", "newPassword", "api_key", "token", "sessionId", "cvv"].map { name in
            "--b\r\nContent-Disposition: form-data; name=\"\(name)\"\r\n\r\n§\r\n--b\r\n"
                + "Content-Disposition: form-data; name=\"note\"\r\n\r\nhello\r\n--b--\r\n"
        } + [
            "--b\r\nContent-Disposition: form-data; name=\"token\"; filename=\"t\"\r\nContent-Type: a/b\r\n\r\n§\r\n--b--\r\n",
            "--b\r\nContent-Disposition: form-data; name=password\r\n\r\n§\r\n--b--\r\n",
            "--b\r\nContent-Disposition: form-data; name=\"json\"\r\n\r\n{\"token\":\"§\"}\r\n--b--\r\n",
            "--b\r\nContent-Disposition: form-data; filename=\"t\"; name=\"secret\"\r\n\r\n§",
            "--b\r\nContent-Disposition: form-data;\r\n name=\"password\"\r\n\r\n§\r\n--b--\r\n",
            "--b\r\nContent-Disposition : form-data; filename=\"\(String(repeating: "x", count: 300))\";\r\n\tname=\"token\"\r\n\r\n§\r\n--b--\r\n",
            "--b\r\nContent-Disposition: form-data; name=\"secret\"\r\n\r\na\r\n--- \r\n--bc\r\n§\r\n--b--\r\n",
            "pre\n--b\nContent-Type: a/b\nContent-Disposition: form-data; name=\"secret\"\n\na\n--§\n--b--\n",
        ])

    static let shapes = list(
        .body("text/plain"),
        [
            "ghp_§", "gho_§", "github_pat_§", "glpat-§", "npm_§", "pypi-§", "sk_live_§", "rk_live_§", "whsec_§",
            "xoxb-12345678-§",
            "xoxp-§", "SG.§.§", "AIza§§", "ya29.§", "GOCSPX-§", "dop_v1_§", "hvs.§", "sk-proj-§", "sk-ant-api03-§",
            "sk-§",
            "shpat_§", "dckr_pat_§", "v4.local.§", "$2b$10$§§", "$argon2id$v=19$m=65536,t=3,p=4$§", "hf_§", "lin_api_§",
            "glsa_§", "ntn_§", "pscale_tkn_§", "dp.pt.§", "vcp_§", "fo1_§", "123456789:AA§§",
            "https://api.example.com/bot123456789:AA§§/getMe", "$apr1$a1b2c3d4$§", "pbkdf2_sha256$600000$a1b2$§§",
            "IHsidG9rZW4iOiI§", "W3sidG9rZW4iOiI§", "WyB7InRva2VuIjoi§", "Wwp7InRva2Vu§", "WwogIHsidG9rZW4i§",
            "IFsgeyJ0b2tlbiI6§", "IFt7InRva2VuIjoi§", "LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0t§§",
            "-----BEGIN PRIVATE KEY-----\n§\n-----END PRIVATE KEY-----", "-----BEGIN RSA PRIVATE KEY-----\n§",
            "-----BEGIN PGP PRIVATE KEY BLOCK-----\n§\n-----END PGP PRIVATE KEY BLOCK-----",
            "eyJhbGciOiJIUzI1NiJ9.§.§", "eyAiYWxnIjoiSFMyNTYifQ.§", "ZXlKaGJHY2lPaUpGVXpJMU5pSjku§",
            "ZXlKaGJHY2lPaUpGVXpJ/+§==",
            "MIIUVQYJKoZIhvcNAQcCoIIURjCCFEICAQExDzANBglghkgBZQMEAgEFADCCA4s§",
        ].map { "see \($0) here" })

    static let wide = Planted.Encoding.allCases.dropFirst().flatMap { encoding in
        [
            #"{"user":"änna","password":"§"}"#, "<r><token>§</token></r>", "a: 1\npassword: §\n", "see Bearer § here",
        ].map { template in
            Planted(place: .body("text/plain; charset=utf-16", encoding), template: template)
        } + [Planted(place: .body("application/octet-stream", encoding), template: #"{"token":"§"}"#)]
    }

    /// Texts with few ASCII characters. Their media type or their first character shows the encoding.
    static let declared = zip(
        ["utf-16le", "utf-16be", "UTF-16", "utf-16", "utf-32"],
        [Planted.Encoding.utf16LE, .utf16BE, .utf16LE, .utf16BE, .utf32LEWithMark]
    ).flatMap { charset, encoding in
        let kanji = String(repeating: "漢", count: 400)
        return [
            Planted(place: .body("text/yaml; charset=\(charset)", encoding), template: "a: \(kanji)\npassword: §\n"),
            Planted(place: .body("text/plain; charset=\(charset)", encoding), template: "\(kanji) password=§ \(kanji)"),
            Planted(place: .body("application/xml", encoding), template: "<a><b>\(kanji)</b><token>§</token></a>"),
            Planted(place: .body("", encoding), template: "{\"a\":\"\(kanji)\",\"token\":\"§\"}"),
        ]
    }

    static let errors = list(
        .error,
        [
            "https://h/?token=§ cannot be reached", "The server said: {\"password\":\"§\"}",
            "no route to https://anna:§@h/",
            "Authorization: Bearer § was refused", "api_key=§ is unknown", "The header X-Api-Key: § is not accepted",
        ])

    /// Prefixes of tokens that have 32 hexadecimal digits.
    static let beforeHexadecimal = ["dapi", "SK", "key-"]

    /// Numbers of payment cards that banks publish for tests.
    static let cards = [
        "see 4111111111111111 here", "{\"n\":\"4242424242424242\"}", "5555 5555 5555 4444", "4111-1111-1111-1111",
        "3782 822463 10005", "x=4111+1111+1111+1111", "https://h/?x=4111+1111+1111+1111&y=2",
        "<pan>5105105105105100</pan>", "see 378282246310005 here", #"{"n":"371449635398431"}"#,
        "pan=378734493671000&y=2",
        "<pan>378282246310005</pan>", #"{"n":4111111111111111}"#, #"{"n": 378282246310005, "m": 1}"#,
        #"{"a":[5555555555554444,1]}"#, #"{"a":[1,6011000990139424]}"#, #"{"n":2223003122003222}"#,
        #"{"n":"30569309025904"}"#, #"{"n":3530111333300000}"#, #"{"n":6200000000000000000}"#, "3056 930902 5904",
        #"{"card":{"id":"x","n":4111111111111111}}"#,
        #"{"a":"[4111111111111111,1]"}"#, #"{"a":"{\"n\":[1,4111111111111111]}"}"#, #"{"a":["x",4111111111111111]}"#,
        #"{"a":"[\"x\",4111111111111111]","b":[[4111111111111111]]}"#, "4111111111111111 1226",
        "4111 1111 1111 1111 1226",
    ]
}
