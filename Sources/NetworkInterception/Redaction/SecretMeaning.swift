/// What a name says about the value beside it: in which places that value is a secret, and which kinds of values are.
/// Empty for a name that says nothing.
struct SecretMeaning: OptionSet, Sendable {
    let rawValue: UInt8

    /// The value of a header.
    static let header = SecretMeaning(rawValue: 1)
    /// The value of an item of a query, a form or a cookie.
    static let item = SecretMeaning(rawValue: 2)
    /// The value of a member of JSON, XML or YAML, of a part of a multipart form, or of a setting in a text.
    static let member = SecretMeaning(rawValue: 4)
    /// Also a value that is a number.
    static let number = SecretMeaning(rawValue: 8)
    /// Also a value that is an array.
    static let list = SecretMeaning(rawValue: 16)
    /// Also a value that is an object, or an element with elements.
    static let object = SecretMeaning(rawValue: 32)
    /// In a text the value goes on to the end of the line.
    static let line = SecretMeaning(rawValue: 64)
    /// Known to be no secret, although the name ends like one.
    static let harmless = SecretMeaning(rawValue: 128)

    static let everywhere: SecretMeaning = [.header, .item, .member]
    static let everything: SecretMeaning = [.number, .list, .object]
}

/// Words that names of secrets consist of, or end with, and what such a name means.
struct SecretWords: Sendable {
    enum Reach: Int, Sendable {
        /// A name that ends so: `token` is `accessToken`, `X-Vault-Token` and `authtoken`.
        case ending
        /// A name whose last word it is: `pass` is `user_pass` and `userPass`, not `compass`.
        case word
        /// Only the name itself, as `code` in a query.
        case whole
    }

    let reach: Reach
    let meaning: SecretMeaning
    /// In lower case, without what separates words.
    let words: [String]

    init(_ reach: Reach, _ meaning: SecretMeaning, _ words: String) {
        self.reach = reach
        self.meaning = meaning
        self.words = words.split { $0 == " " || $0 == "\n" }.map(String.init)
    }

    /// Each of these words followed by each of `tails`.
    func followed(by tails: String) -> SecretWords {
        let tails = tails.split(separator: " ")
        return SecretWords(
            .ending, meaning, words.flatMap { word in tails.map { word + $0 } }.joined(separator: " "))
    }
}

extension SecretWords {
    private static let passwords = SecretWords(
        .ending, [.everywhere, .everything],
        "password passwd passphrase passcode pwd secret passwort kennwort motdepasse senha")
    private static let tokens = SecretWords(.ending, [.everywhere, .everything], "token")

    /// The names of secrets. Headers, items, members, elements and settings are all looked up here.
    static let standard: [SecretWords] = [
        passwords, tokens,
        passwords.followed(
            by: "value hash salt digest confirmation confirm again repeat verify new old plain text string binary data"),
        tokens.followed(by: "value hash secret hint data"),
        SecretWords(
            .ending, [.everywhere, .everything],
            """
            credential credentials creds authorization apikey accesskey secretkey privatekey signingkey encryptionkey
            decryptionkey masterkey authkey authenticationkey subscriptionkey accountkey sharedkey deploykey sshkey
            adminkey serverkey applicationkey consumerkey webhookkey functionskey hmackey sessionkey streamkey recoverykey
            licensekey insertkey ingestkey symmetrickey aeskey rsakey servicekey wrappingkey
            customerkey integrationkey writekey appkey keymaterial secretid
            passkey connectionstring accesskeyid authheader authorizationheader
            sessionid sessid samlresponse samlassertion codeverifier oauthverifier seedphrase recoveryphrase mnemonic
            backupcode backupcodes recoverycode recoverycodes verificationcode authcode authorizationcode securitycode
            accesscode otpcode mfacode twofactorcode smscode logincode devicecode pincode activationcode
            confirmationcode resetcode onetimecode 2facode tfacode authenticatorcode cvvcode cvccode cardcode
            cardverificationvalue secretanswer securityanswer receiptdata latestreceipt signedpayload signedtransaction signedtransactions
            signedtransactioninfo signedrenewalinfo signedapptransactioninfo cardnumber ccnumber creditcard
            creditcardnumber magiclink
            """),
        SecretWords(
            .ending, [.everywhere, .number, .list],
            "otp cvv cvc jwt jws userpass dbpass newpass oldpass rootpass smtppass ftppass sshpass mailpass tkn sharedaccesssignature"
        ),
        SecretWords(.word, [.everywhere, .number, .list], "pin cvn csc sid sess dpop assertion samlrequest hmac"),
        SecretWords(.word, [.everywhere, .list], "pass psw pw auth oauth session bearer cred mfa"),
        SecretWords(.ending, [.everywhere, .list, .line], "cookie cookies"),
        SecretWords(.word, [.everywhere, .everything, .line], "authorization"),
        // A receipt that is an object was decoded already.
        SecretWords(.whole, [.item, .member, .number, .list], "receipt"),
        SecretWords(.ending, [.member, .list, .object], "passwords tokens secrets apikeys"),
        SecretWords(.ending, [.header, .item], "signature"),
        SecretWords(.ending, [.header], "authenticationinfo"),
        SecretWords(.whole, [.item], "key code sig sign ticket"),
        SecretWords(
            .ending, .harmless,
            """
            pagetoken pagingtoken paginationtoken nexttoken continuationtoken continuetoken synctoken cursortoken
            prevtoken previoustoken skiptoken appaccounttoken cancellationtoken changetoken designtoken designtokens
            maxtokens mintokens inputtokens outputtokens prompttokens completiontokens
            totaltokens cachedtokens usedtokens limittokens allowcredentials withcredentials supportscredentials
            """),
    ]

    /// Segments of paths after which there is a token: `/reset/…`. Others are names of secrets: `/token/…`.
    static let steps = SecretWords(.word, .member, "reset verify verification confirm activate activation magic invite")
    /// Names whose value may itself be the name of a secret, the value of which stands beside it:
    /// `{"name": "password", "value": "…"}`.
    static let naming = SecretWords(.whole, .member, "name key id field header parameter type")
    /// The names of such values.
    static let named = SecretWords(.whole, .member, "value val content data")
    /// Elements whose text such a value is, when an attribute names it.
    static let namedElements = SecretWords(
        .whole, .member,
        "entry string property setting item param add field data value val content integer attribute parameter header")
}

/// Words in a form in which the end of a name is looked up letter by letter, each once: a tree of letters, last ones first.
struct SecretTable: Sendable {
    private static let columns = 36
    private static let reaches = 3
    private var children = [UInt16](repeating: 0, count: Self.columns)
    private var meanings = [SecretMeaning](repeating: [], count: Self.reaches)

    init(_ groups: [SecretWords]) {
        for group in groups {
            for word in group.words { insert(word, group) }
        }
    }

    private mutating func insert(_ word: String, _ group: SecretWords) {
        var node = 0
        for column in word.utf8.reversed().compactMap(Self.column) {
            let place = node * Self.columns + column
            if children[place] == 0 {
                children[place] = UInt16(meanings.count / Self.reaches)
                children += [UInt16](repeating: 0, count: Self.columns)
                meanings += [SecretMeaning](repeating: [], count: Self.reaches)
            }
            node = Int(children[place])
        }
        meanings[node * Self.reaches + group.reach.rawValue].formUnion(group.meaning)
    }

    /// What the longest word says that a name ends with. Case and what separates words do not count; digits at the end
    /// count only where the table has them.
    func meaning(of text: UnsafeBufferPointer<UInt8>, _ name: Range<Int>) -> SecretMeaning {
        if let found = longest(text, name, allowsWhole: true) { return found.contains(.harmless) ? [] : found }
        var end = name.upperBound
        while end > name.lowerBound, !text[end - 1].isASCIILetter { end -= 1 }
        guard end < name.upperBound, let found = longest(text, name.lowerBound..<end, allowsWhole: false) else {
            return []
        }
        return found.contains(.harmless) ? [] : found
    }

    private func longest(
        _ text: UnsafeBufferPointer<UInt8>, _ name: Range<Int>, allowsWhole: Bool
    ) -> SecretMeaning? {
        var node = 0
        var best: SecretMeaning?
        var place = name.upperBound
        while place > name.lowerBound {
            place -= 1
            guard let column = Self.column(text[place]) else {
                if text[place] < 0x80 { continue }
                return best
            }
            node = Int(children[node * Self.columns + column])
            guard node != 0 else { return best }
            let ending = meanings[node * Self.reaches + SecretWords.Reach.ending.rawValue]
            if !ending.isEmpty { best = ending }
            let word = meanings[node * Self.reaches + SecretWords.Reach.word.rawValue]
            if !word.isEmpty, Self.beginsWord(text, place, name) { best = word.union(ending) }
        }
        let whole = meanings[node * Self.reaches + SecretWords.Reach.whole.rawValue]
        return allowsWhole && !whole.isEmpty ? whole : best
    }

    /// Whether a word of a name begins here: after what is no letter, or where lower case ends.
    private static func beginsWord(_ text: UnsafeBufferPointer<UInt8>, _ place: Int, _ name: Range<Int>) -> Bool {
        guard place > name.lowerBound else { return true }
        let (before, first) = (text[place - 1], text[place])
        guard before.isASCIILetter else { return before < 0x80 }
        guard first.isUppercase else { return false }
        return !before.isUppercase || place + 1 < name.upperBound && !text[place + 1].isUppercase
    }

    private static func column(_ byte: UInt8) -> Int? {
        switch byte {
        case 0x61...0x7A: Int(byte) - 0x61
        case 0x41...0x5A: Int(byte) - 0x41
        case 0x30...0x39: Int(byte) - 0x30 + 26
        default: nil
        }
    }
}

extension UInt8 {
    var isUppercase: Bool { (0x41...0x5A).contains(self) }
    var isDigit: Bool { (0x30...0x39).contains(self) }
    var isASCIILetter: Bool { (0x61...0x7A).contains(self | 0x20) }
    var isAlphanumeric: Bool { isDigit || isASCIILetter }
    var isBlank: Bool { self == 0x20 || self == 0x09 }
    var isLineEnd: Bool { self == 0x0A || self == 0x0D }
}
