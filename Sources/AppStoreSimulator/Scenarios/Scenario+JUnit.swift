import Foundation

extension Scenario {
    /// Returns reports as JUnit XML for CI systems: a test suite for each scenario, a test case for each step.
    ///
    /// - Parameter reports: The reports of the scenarios.
    /// - Returns: The XML document.
    public static func junit(_ reports: [Report]) -> String {
        let suites = reports.map(\.suite)
        let all = suites.reduce(JUnitCounts()) { $0 + $1.counts }
        let body = suites.map(\.xml).joined()
        return """
            <?xml version="1.0" encoding="UTF-8"?>
            <testsuites name="souk scenario run"\(all.attributes)>
            \(body)</testsuites>

            """
    }
}

private struct JUnitCounts {
    var tests = 0
    var failures = 0
    var skipped = 0
    var seconds = 0.0

    static func + (left: JUnitCounts, right: JUnitCounts) -> JUnitCounts {
        JUnitCounts(
            tests: left.tests + right.tests, failures: left.failures + right.failures,
            skipped: left.skipped + right.skipped, seconds: left.seconds + right.seconds)
    }

    var attributes: String {
        #" tests="\#(tests)" failures="\#(failures)" errors="0" time="\#(Scenario.Report.text(seconds))""#
    }
}

extension Scenario.Report {
    fileprivate var suite: (xml: String, counts: JUnitCounts) {
        var counts = JUnitCounts(tests: steps.count, seconds: seconds)
        var cases = ""
        for (index, step) in steps.enumerated() {
            let digits = String("\(steps.count)".count)
            let sortableNumber = String(format: "%0\(digits)d", index + 1)
            let title = step.note.isEmpty ? step.title : "\(step.title) (\(step.note))"
            let head =
                "    <testcase classname=\"\(name.xmlEscaped)\" name=\"\("\(sortableNumber) \(title)".xmlEscaped)\" "
                + "time=\"\(Self.text(step.seconds))\""
            switch step.outcome {
            case .passed: cases += head + "/>\n"
            case .skipped:
                counts.skipped += 1
                cases += head + "><skipped message=\"an earlier step could not be done\"/></testcase>\n"
            case .failed(let differences):
                counts.failures += 1
                let subjects = differences.map(\.subject).joined(separator: ", ")
                let text = differences.flatMap { ["\(file) at \($0.pointer)"] + $0.text }.joined(separator: "\n")
                cases +=
                    head + ">\n      <failure message=\"not as expected: \(subjects.xmlEscaped)\" type=\"difference\">"
                    + "\(text.xmlEscaped)</failure>\n    </testcase>\n"
            }
        }
        let open =
            "  <testsuite name=\"\(name.xmlEscaped)\" file=\"\(file.xmlEscaped)\" "
            + "skipped=\"\(counts.skipped)\"\(counts.attributes)>\n"
        return (open + cases + "  </testsuite>\n", counts)
    }
}

extension String {
    /// The string escaped for the text and the attributes of XML 1.0, which does not allow control characters.
    fileprivate var xmlEscaped: String {
        var text = ""
        for scalar in unicodeScalars {
            switch scalar {
            case "&": text += "&amp;"
            case "<": text += "&lt;"
            case ">": text += "&gt;"
            case "\"": text += "&quot;"
            case "\n": text += "&#10;"
            case "\t": text += "&#9;"
            case "\u{0}"..<" ", "\u{FFFE}", "\u{FFFF}": text += "\u{FFFD}"
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text
    }
}
