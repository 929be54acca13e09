extension SecretCorpus {
    /// Mappings and lists below a name that makes everything below it a secret, as in JSON.
    static let blocks = [
        "passwords:\n  prod:\n    main: §\n", "a: 1\nsecrets:\n  prod:\n    stripe: §\nb: 2\n",
        "secrets:\n  prod:\n    eu:\n      - x:\n          stripe: §\n", "credentials:\n  stripe: §\n",
        "tokens:\n  stripe: §\n", "credentials:\n  - user: a\n    key: §\n", "tokens:\n  - user: a\n    key: §\n",
        "tokens:\n- user: a\n  key: §\nb: 2\n", "apiKeys:\n  prod:\n    main: §\n", "api_keys:\n  prod:\n    main: §\n",
        "a:\n  refreshTokens:\n    prod:\n      main: §\n  b: 2\n", "token:\n  main: §\n",
        "password:\n  prod:\n    main: §\n", "access_token:\n- a:\n    b: §\n",
        "authorization:\n  prod:\n    main: §\n",
        "otp:\n- code: §\n", "pin:\n  - of: a\n    code: ¤\n", "backupCodes:\n  anna:\n    - a\n    - §\n",
        "\"passwords\":\n  prod:\n    main: §\n", "'secrets' :\n\n  \"prod\":\n    'main': '§'\n",
        "passwords:\n  \"prod\":\n    \"main\": \"§\"\n", "passwords: # all\n  prod: # one\n    main: §\n",
        "passwords: &all\n  prod: &one\n    main: §\n", "passwords: !!map\n  prod:\n    main: §\n",
        "passwords:\n# all\n  prod:\n\n# one\n    main: §\n",
        "passwords:\n  prod:\n    main: a\n  # formerly §\nb: 2\n",
        "passwords:\n  prod: |\n    a\n\n    §\nb: 2\n", "passwords:\n  a: >-\n    x: y\n    # §\nb: 2\n",
        "passwords:\r\n  prod:\r\n    main: §\r\n", "passwords:\n\tprod:\n\t\tmain: §\n",
        "- passwords:\n    prod:\n      main: §\n- b: 2\n", "- passwords:\n  - prod:\n      main: §\n",
        "passwords:\n  prod: {name: a,\n    main: §}\n", "passwords:\n  ? prod\n  : main: §\n",
        "secrets:\n  cert:\n    file: ./cert.txt\n  x:\n    y: §\n", "secrets:\n  cert:\n    file: |\n      §\n",
        "secrets:\n  name: §\n", "passwords:\n  id:\n    main: §\n", "tokens:\n  type: string\n  example: §\n",
        "secrets:\n  - name: a\n    §\n", "---\npasswords:\n  prod:\n    main: §\n---\nb: 2\n",
    ].map { Planted(place: .body("application/yaml"), template: $0) }

    /// The same in UTF-16 and UTF-32.
    static let wideBlocks = Planted.Encoding.allCases.map { encoding in
        Planted(
            place: .body("application/yaml", encoding),
            template: "a: 1\r\npasswords:\r\n  prod:\r\n    main: §\r\nb: 2\r\n")
    }
}
