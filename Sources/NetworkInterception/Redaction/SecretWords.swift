/// Words in the names of secrets, and the meaning of such names.
struct SecretWords: Sendable {
    enum Reach: Int, Sendable {
        /// A name that ends with the word: `token` matches `accessToken`, `X-Vault-Token` and `authtoken`.
        case ending
        /// A name with this last word: `pass` matches `user_pass` and `userPass`, but not `compass`.
        case word
        /// The whole name, such as `code` in a query.
        case whole
    }

    let reach: Reach
    let meaning: SecretMeaning
    /// The words in lower case, without separators.
    let words: [String]

    init(_ reach: Reach, _ meaning: SecretMeaning, _ words: String) {
        self.reach = reach
        self.meaning = meaning
        self.words = words.split { $0 == " " || $0 == "\n" }.map(String.init)
    }

    /// Returns each word followed by each of `tails`.
    func followed(by tails: String) -> SecretWords {
        let tails = tails.split { $0 == " " || $0 == "\n" }
        return SecretWords(
            .ending, meaning, words.flatMap { word in tails.map { word + $0 } }.joined(separator: " "))
    }
}

extension SecretWords {
    private static let passwords = SecretWords(
        .ending, [.everywhere, .everything],
        "password passwd passphrase passcode pwd secret passwort kennwort motdepasse senha")
    private static let tokens = SecretWords(.ending, [.everywhere, .everything], "token")

    /// The names of secrets in headers, items, members, elements and settings. An object named `receipt` is not a
    /// secret, because it is a receipt that was already decoded.
    static let standard: [SecretWords] = [
        passwords, tokens,
        passwords.followed(
            by: """
                value hash salt digest confirmation confirm again repeat verify new old plain text string str binary data
                base64 b64 hex encoded enc encrypted input raw
                """),
        tokens.followed(by: "value hash secret hint data string str base64 b64 hex encoded enc encrypted raw"),
        SecretWords(
            .ending, [.everywhere, .everything],
            """
            credential credentials creds authorization apikey accesskey secretkey privatekey signingkey encryptionkey
            decryptionkey masterkey authkey authenticationkey subscriptionkey accountkey sharedkey deploykey sshkey
            adminkey serverkey applicationkey consumerkey webhookkey functionskey hmackey sessionkey streamkey recoverykey
            licensekey clientkey sslkey tsigkey validationkey routingkey clickhousekey jfrogartapi loggedinkey noncekey unlockkey transactionkey jwtkey insertkey ingestkey symmetrickey aeskey rsakey servicekey wrappingkey
            customerkey integrationkey unsealkey tlskey writekey appkey keymaterial secretid
            activationkey storagekey pgpkey gpgkey
            secretkeybase passkey connectionstring accesskeyid authheader authorizationheader
            sessionid sessid samlresponse samlassertion codeverifier oauthverifier seedphrase recoveryphrase mnemonic
            backupcode backupcodes recoverycode recoverycodes verificationcode authcode authorizationcode securitycode
            accesscode otpcode otpattempt tokencode authenticationcode verifycode totpseed mfacode twofactorcode smscode logincode devicecode pincode activationcode
            confirmationcode resetcode onetimecode 2facode tfacode authenticatorcode cvvcode cvccode cvv2code cvc2code cardcode unlockcode emailcode pairingcode
            cardverificationvalue secretanswer securityanswer receiptdata latestreceipt signedpayload signedtransaction signedtransactions
            signedtransactioninfo signedrenewalinfo signedapptransactioninfo cardnumber ccnumber creditcard
            creditcardnumber magiclink
            """),
        SecretWords(
            .ending, [.everywhere, .number, .list],
            "otp cvv cvc jwt jws jwtstring jwtvalue verificationvalue userpass dbpass newpass oldpass rootpass smtppass ftppass sshpass mailpass bindpw rootpw oldpw newpw sesskey formkey csrfmagic wpnonce jenkinscrumb snmpcommunity tkn sharedaccesssignature"
        ),
        SecretWords(
            .word, [.everywhere, .number, .list],
            "pin mpin tpin pinnumber psk privkey apisig cvn csc sid sess dpop assertion samlrequest hmac csrf xsrf"),
        SecretWords(.word, [.everywhere, .list], "pass psw pw auth oauth session bearer cred mfa"),
        SecretWords(.ending, [.everywhere, .list, .line], "cookie cookies"),
        SecretWords(.word, [.everywhere, .everything, .line], "authorization"),
        SecretWords(.whole, [.item, .member, .number, .list], "receipt"),
        SecretWords(.ending, [.member, .list, .object], "passwords tokens secrets apikeys"),
        SecretWords(.whole, [.header, .member, .list, .object], "tokens xtokens"),
        SecretWords(
            .whole, [.member, .list, .object],
            "keysbase64 unsealkeysb64 unsealkeyshex recoverykeysb64 recoverykeyshex"),
        SecretWords(
            .ending, [.header, .member, .list, .object], "accesstokens refreshtokens authtokens sessiontokens apitokens"
        ),
        SecretWords(.ending, [.header, .item], "signature"),
        SecretWords(.ending, [.header], "authenticationinfo accesssign apisign"),
        SecretWords(.whole, [.header], "authentication fastlykey xgotifykey xmashapekey"),
        SecretWords(.whole, [.item], "key code sig sign ticket oobcode wresult samlart signedrequest"),
        SecretWords(
            .ending, .harmless,
            """
            pagetoken pagingtoken paginationtoken nexttoken continuationtoken continuetoken nextsynctoken cursortoken
            prevtoken previoustoken skiptoken appaccounttoken cancellationtoken designtoken designtokens
            maxtokens mintokens inputtokens outputtokens prompttokens completiontokens
            totaltokens cachedtokens usedtokens limittokens allowcredentials withcredentials supportscredentials
            """),
        // Not endings, because `exchangeToken` and `asyncToken` are secrets.
        SecretWords(.word, .harmless, "changetoken synctoken"),
    ]

    /// Path segments before a token, such as `/reset/…`. Names of secrets, such as `/token/…`, count too.
    static let confirmationSegments = [
        SecretWords(.word, .member, "reset verify verification confirm activate activation magic invite"),
        SecretWords(.ending, .member, "verifyemail confirmemail resetpassword forgotpassword setpassword"),
    ]
    /// Names whose value may be the name of a secret in another member: `{"name": "password", "value": "…"}`.
    static let nameMembers = SecretWords(
        .whole, .member, "name key id field header parameter type param variable attributename parametername fieldname")
    /// Names whose value may be the path of a secret: `{"op": "add", "path": "/password", "value": "…"}`.
    static let pathMembers = SecretWords(.whole, .member, "path")
    /// The names of values that are secrets if a member before them contains the name of a secret.
    static let valuesBesideName = SecretWords(
        .whole, .member, "value val content data values newvalue oldvalue attributevalue parametervalue fieldvalue")
    /// The names of secret values in an object with the name of a secret: `"pin": {"value": "…"}`.
    static let valuesInSecretObject = SecretWords(.whole, .member, "value val raw plain plaintext stringvalue newvalue")
    /// Functions that take a name and its value: `define('DB_PASSWORD', '…')`.
    static let setters = SecretWords(
        .whole, .member,
        """
        define setenv set setitem setproperty setheader setrequestheader addheader addrequestheader header put append
        """)
    /// The names of ids. Their values are not numbers of payment cards.
    static let identifiers = SecretWords(.word, .member, "id ids identifier identifiers")
    /// Names in YAML whose values describe a secret, such as its location and name.
    static let references = SecretWords(
        .whole, .member, "name id source target file path type mode uid gid optional external description")
    /// The elements whose text is a secret after the name of a secret, as in `<entry key="password">…`.
    static let valueElements = SecretWords(
        .whole, .member,
        """
        entry string property setting item param add field data value val content integer attribute parameter header
        attributevalue textarea prop
        """)
}
