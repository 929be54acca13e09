/// A body in UTF-16 or UTF-32, with or without a byte order mark, and the same text in UTF-8.
struct WideText {
    /// The text in UTF-8, without the mark. What is no character is U+FFFD.
    let narrow: [UInt8]

    private let width: Int
    private let isBigEndian: Bool
    private let mark: [UInt8]

    /// `nil` for what is neither. Without a mark a text is known by the zeros of its ASCII characters, by its media type
    /// when that has a charset, and by its first character when that is one with which JSON or XML begins.
    init?(_ bytes: [UInt8], type: @autoclosure () -> String?) {
        let form: (width: Int, isBigEndian: Bool, mark: Int)
        switch (bytes.count, bytes.first) {
        case (0...3, _): return nil
        case (_, 0xFF?) where bytes.starts(with: [0xFF, 0xFE, 0, 0]): form = (4, false, 4)
        case (_, 0xFF?) where bytes[1] == 0xFE: form = (2, false, 2)
        case (_, 0xFE?) where bytes[1] == 0xFF: form = (2, true, 2)
        case (_, 0?) where bytes.starts(with: [0, 0, 0xFE, 0xFF]): form = (4, true, 4)
        default:
            // Nearly every body ends here: it has no zero among its first or last bytes.
            guard bytes.prefix(64).contains(0) || bytes.suffix(64).contains(0),
                let guess = Self.guess(bytes) ?? Self.declared(bytes, type()?.lowercased() ?? "")
            else { return nil }
            form = (guess.width, guess.isBigEndian, 0)
        }
        (width, isBigEndian, mark) = (form.width, form.isBigEndian, Array(bytes[..<form.mark]))
        narrow = Self.narrow(bytes[form.mark...], form.width, form.isBigEndian)
    }

    /// Whether all of it are characters that a text has.
    var isText: Bool {
        !narrow.contains(0) && !narrow.indices.contains { narrow[$0...].starts(with: [0xEF, 0xBF, 0xBD]) }
    }

    /// How a text without a mark is written: an ASCII character has one byte that is not zero.
    private static func guess(_ bytes: [UInt8]) -> (width: Int, isBigEndian: Bool)? {
        let zeros = zeros(bytes)
        let units = bytes.count / 4
        // Three of four are zero.
        if zeros[1] >= units * 3 / 4, zeros[2] >= units * 3 / 4, units > 0 {
            if zeros[3] >= units * 3 / 4, zeros[0] < units / 4 { return (4, false) }
            if zeros[0] >= units * 3 / 4, zeros[3] < units / 4 { return (4, true) }
        }
        let (even, odd) = (zeros[0] + zeros[2], zeros[1] + zeros[3])
        // Every eighth character is ASCII, and hardly a zero is in the wrong place.
        if odd * 16 >= bytes.count, even * 16 <= odd { return (2, false) }
        if even * 16 >= bytes.count, odd * 16 <= even { return (2, true) }
        return nil
    }

    /// How a text of few ASCII characters is written, by its media type or its first character.
    private static func declared(_ bytes: [UInt8], _ type: String) -> (width: Int, isBigEndian: Bool)? {
        for width in [4, 2] where type.contains("utf-\(8 * width)") {
            if type.contains("utf-\(8 * width)le") { return (width, false) }
            if type.contains("utf-\(8 * width)be") { return (width, true) }
            let zeros = zeros(bytes)
            return (width, width == 2 ? zeros[0] + zeros[2] > zeros[1] + zeros[3] : zeros[0] > zeros[3])
        }
        for width in [4, 2] {
            let first = bytes.prefix(width).filter { $0 != 0 }
            guard first.count == 1, "<{[".utf8.contains(first[0]) else { continue }
            if bytes[0] == first[0] { return (width, false) }
            if bytes[width - 1] == first[0] { return (width, true) }
        }
        return nil
    }

    /// How many zeros are at each place of four.
    private static func zeros(_ bytes: [UInt8]) -> [Int] {
        var zeros = [0, 0, 0, 0]
        bytes.withUnsafeBufferPointer { bytes in
            for place in bytes.indices where bytes[place] == 0 { zeros[place & 3] += 1 }
        }
        return zeros
    }

    private static func narrow(_ bytes: ArraySlice<UInt8>, _ width: Int, _ isBigEndian: Bool) -> [UInt8] {
        var units: [UInt32] = []
        units.reserveCapacity(bytes.count / width)
        var place = bytes.startIndex
        while place + width <= bytes.endIndex {
            var unit: UInt32 = 0
            for offset in 0..<width {
                unit = unit << 8 | UInt32(bytes[place + (isBigEndian ? offset : width - 1 - offset)])
            }
            units.append(unit)
            place += width
        }
        guard width == 4 else {
            return Array(String(decoding: units.map { UInt16(truncatingIfNeeded: $0) }, as: UTF16.self).utf8)
        }
        var text = String.UnicodeScalarView()
        text.append(contentsOf: units.map { Unicode.Scalar($0) ?? "\u{FFFD}" })
        return Array(String(text).utf8)
    }

    /// Another text in UTF-8 as this one is written.
    func encoded(_ text: [UInt8]) -> [UInt8] {
        let text = String(decoding: text, as: UTF8.self)
        var bytes = mark
        func append(_ unit: UInt32) {
            for place in 0..<width {
                bytes.append(UInt8(truncatingIfNeeded: unit >> UInt32(8 * (isBigEndian ? width - 1 - place : place))))
            }
        }
        if width == 2 {
            for unit in text.utf16 { append(UInt32(unit)) }
        } else {
            for scalar in text.unicodeScalars { append(scalar.value) }
        }
        return bytes
    }
}
