"""The self-test of the table of Apple's server APIs, as part of the self-test of check-docs."""

import apple_coverage
import gate


def write_program(file, script):
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)


def make(copy):
    """Makes a library, a payload with a field and a value, and the table and the document of their items."""
    for path, text in {
        "library/models/Data.py": "class Data:\n    status: int = 0\n    rawStatus: int = 0\n    bundleId: str = ''\n",
        "library/models/Status.py": "class Status:\n    ACTIVE = 1\n",
        "library/models/Other.py": "class Other:\n    name: str = ''\n",
        "library/api_client.py": "class APIError:\n    NOT_FOUND = 4040010\n\n\nclass AppStoreServerAPIClient:\n"
                                 "    def get_data(self): pass\n    def _send(self): pass\n",
        "Sources/AppStorePayloads/Data.swift":
            "final class NotificationDataFields: AppStorePayloadFields {\n    // PayloadField<Int>(\"comment\")\n"
            "    let status = PayloadField<Status>(\n        \"status\")\n}\nextension AppStoreServerAPI.Status {\n"
            "    static var active: Self { Self(rawValue: 1) }\n}\nextension AppStoreServerAPI.ErrorCode {\n"
            "    static let notFound = Self(rawValue: 4_040_010)\n}\n",
        apple_coverage.TABLE:
            "library app-store-server-library 1.2.3\ntest refused | Examples/One/Tests.swift | what is forged is refused\n"
            "test compared | Scripts/support/apple_coverage.py | payload_faults\nreason unused | Nobody uses it.\n"
            "part All of it\nendpoints Data\n  Get Data: GET /data | - | library get_data | refused | -\n"
            "fields Data = NotificationData\n  bundleId | - | library | - | unused\n  status | 1.2 | library | refused | -\n"
            "values Status\n  1 ACTIVE | - | library | compared | unused\n  2 ENDED | - | page | - | unused\n"
            "errors Errors\n  4040010 NOT_FOUND | - | library | refused | -\noutside unused\n  Other\n",
    }.items():
        (copy / path).parent.mkdir(parents=True, exist_ok=True)
        (copy / path).write_text(text)
    apple_coverage.write(copy)


def plant(test, copy):
    """Plants one fault at a time in the files of `make`. The gate must find each of them."""
    for what, path, old, new, naming in [
        ("an old document", apple_coverage.DOCUMENT, "| `status` | 1.2 |", "| `status` | 1.1 |", "is not made from"),
        ("a changed table", apple_coverage.TABLE, "| 1.2 |", "| 1.3 |", "is not made from"),
        ("a missing test", apple_coverage.TABLE, "is refused", "is seen", 'the test "what is forged is seen"'),
        ("a missing file of a test", apple_coverage.TABLE, "One/Tests", "Two/Tests", "in Examples/Two/Tests.swift"),
        ("an undeclared test", apple_coverage.TABLE, "| refused | -\nvalues", "| forged | -\nvalues", "names the test forged"),
        ("an undeclared reason", apple_coverage.TABLE, "- | unused\n  status", "- | lazy\n  status", "names the reason lazy"),
        ("an unused reason", apple_coverage.TABLE, "part All", "reason lazy | It is late.\npart All", "declares lazy"),
        ("a key that is declared twice", apple_coverage.TABLE, "part All", "reason unused | It is late.\npart All",
         "declares unused again"),
        ("a row without a test and a reason", apple_coverage.TABLE, "- | unused\n  status", "- | -\n  status",
         "neither a test nor a reason for bundleId of Data"),
        ("a row without a cell", apple_coverage.TABLE, " | - | unused\n  status", " | unused\n  status", "have 5 cells"),
        ("a row that is there twice", apple_coverage.TABLE, "  2 ENDED", "  1 ACTIVE", "has 1 ACTIVE of Status 2 times"),
        ("rows in another order", apple_coverage.TABLE, "  bundleId", "  teamId", "rows of Data in their order"),
        ("a line of another form", apple_coverage.TABLE, "part All", "portion All", "begins with portion"),
        ("a field of the library", "library/models/Data.py", "bundleId", "teamId", "does not have teamId of Data (fields)"),
        ("a field that the library lost", "library/models/Data.py", "bundleId", "teamId", "has bundleId of Data (fields), which"),
        ("a type of the library", "library/models/Other.py", "class Other", "class Another", "does not have name of Another"),
        ("a value of the library", "library/models/Status.py", "ACTIVE", "ALIVE", "does not have 1 ALIVE of Status (values)"),
        ("an error of the library", "library/api_client.py", "4040010", "4040011", "does not have 4040011 NOT_FOUND (errors)"),
        ("a method of the library", "library/api_client.py", "get_data", "get_item", "does not have get_item (endpoints)"),
        ("a field of a payload", "Sources/AppStorePayloads/Data.swift", '\n        "status"', '"teamId"',
         "does not have teamId of NotificationData (fields) of AppStorePayloads"),
        ("a value of a payload", "Sources/AppStorePayloads/Data.swift", "rawValue: 1)", "rawValue: 3)",
         "does not have 3 of Status (values) of AppStorePayloads"),
        ("a lost value of a payload", "Sources/AppStorePayloads/Data.swift", "rawValue: 1)", "rawValue: 3)",
         "has 1 of Status (values), which AppStorePayloads does not have"),
        ("an error of a payload", "Sources/AppStorePayloads/Data.swift", "4_040_010", "4_040_012",
         "does not have 4040012 (errors) of AppStorePayloads"),
        ("another version of the library", "python", "1.2.3", "1.2.4", "but version 1.2.4 is installed"),
        ("no library", "python", "echo 1", "exit 1", "which is not installed"),
    ]:
        with gate.planted(copy / path, lambda text: text.replace(old, new, 1)):
            test.fails(what, copy, naming)
    with gate.planted(copy / apple_coverage.TABLE, lambda text: text.replace("1.2.3", "1.2.4")):
        test.fails("a table for another version of the library", copy, "is for app-store-server-library 1.2.4")
    table = copy / apple_coverage.TABLE
    table.unlink()
    test.fails("no table", copy, f"{apple_coverage.TABLE} does not exist")
