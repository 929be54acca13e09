import Foundation

/// Bytes in UTF-16 or UTF-32 as text in UTF-8, with the position of each character in the original.
struct WideText {
    /// The encoding: bytes per unit, byte order, and the length of the byte order mark.
    private struct Form {
        let width: Int
        let isBigEndian: Bool
        var mark = 0
    }

    /// The text in UTF-8 without the byte order mark. Invalid characters are U+FFFD.
    private(set) var narrow: [UInt8] = []

    private let form: Form
    private let mark: [UInt8]
    /// The position of each byte of the UTF-8 text in the original, and the end of the last character.
    private var places: [Int] = []

    /// The possible readings of the bytes; empty for nearly every body. A byte order mark, the charset of the media
    /// type, the zeros of ASCII characters, and the first character of JSON or XML each indicate an encoding.
    static func readings(of bytes: [UInt8], type: @autoclosure () -> String?) -> [WideText] {
        // Nearly every body ends here, because it has no zero.
        guard bytes.count > 3, bytes.withUnsafeBytes({ memchr($0.baseAddress!, 0, $0.count) }) != nil else { return [] }
        var forms: [Form] = []
        func add(_ form: Form?) {
            guard let form, !forms.contains(where: { $0.width == form.width && $0.isBigEndian == form.isBigEndian })
            else { return }
            forms.append(form)
        }
        add(formOfMark(bytes))
        add(formOfMediaType(bytes, type()?.lowercased() ?? ""))
        add(formOfZeros(bytes))
        if forms.isEmpty { add(formOfFirstCharacter(bytes)) }
        return forms.map { WideText(bytes, $0) }
    }

    private init(_ bytes: [UInt8], _ form: Form) {
        self.form = form
        mark = Array(bytes[..<form.mark])
        narrow.reserveCapacity(bytes.count / form.width)
        places.reserveCapacity(bytes.count / form.width + 1)
        var place = form.mark
        while place + form.width <= bytes.count {
            let (scalar, length) = Self.scalar(bytes, place, form)
            for unit in UTF8.encode(scalar)! {
                narrow.append(unit)
                places.append(place)
            }
            place += length
        }
        places.append(place)
    }

    /// The character at `place`, and its length in bytes.
    private static func scalar(_ bytes: [UInt8], _ place: Int, _ form: Form) -> (Unicode.Scalar, Int) {
        func unit(_ place: Int) -> UInt32 {
            var unit: UInt32 = 0
            for offset in 0..<form.width {
                unit = unit << 8 | UInt32(bytes[place + (form.isBigEndian ? offset : form.width - 1 - offset)])
            }
            return unit
        }
        let first = unit(place)
        if form.width == 2, first & 0xFC00 == 0xD800, place + 4 <= bytes.count {
            let second = unit(place + 2)
            let value = 0x10000 + (first & 0x3FF) << 10 + second & 0x3FF
            if second & 0xFC00 == 0xDC00, let scalar = Unicode.Scalar(value) { return (scalar, 4) }
        }
        return (Unicode.Scalar(first) ?? "\u{FFFD}", form.width)
    }

    /// The range in the original that corresponds to a range of the UTF-8 text.
    func original(_ range: Range<Int>) -> Range<Int> { places[range.lowerBound]..<places[range.upperBound] }

    private static func formOfMark(_ bytes: [UInt8]) -> Form? {
        if bytes.starts(with: [0xFF, 0xFE, 0, 0]) { return Form(width: 4, isBigEndian: false, mark: 4) }
        if bytes.starts(with: [0, 0, 0xFE, 0xFF]) { return Form(width: 4, isBigEndian: true, mark: 4) }
        if bytes.starts(with: [0xFF, 0xFE]) { return Form(width: 2, isBigEndian: false, mark: 2) }
        return bytes.starts(with: [0xFE, 0xFF]) ? Form(width: 2, isBigEndian: true, mark: 2) : nil
    }

    /// The encoding of a text without a mark, detected by its zeros: in an ASCII character, all bytes but one are zero.
    private static func formOfZeros(_ bytes: [UInt8]) -> Form? {
        let zeros = zeros(bytes)
        let units = bytes.count / 4
        if zeros[1] >= units * 3 / 4, zeros[2] >= units * 3 / 4, units > 0 {
            if zeros[3] >= units * 3 / 4, zeros[0] < units / 4 { return Form(width: 4, isBigEndian: false) }
            if zeros[0] >= units * 3 / 4, zeros[3] < units / 4 { return Form(width: 4, isBigEndian: true) }
        }
        let (even, odd) = (zeros[0] + zeros[2], zeros[1] + zeros[3])
        // At least an eighth of the characters is ASCII, and few zeros are in the other position.
        if odd * 16 >= bytes.count, even * 16 <= odd { return Form(width: 2, isBigEndian: false) }
        if even * 16 >= bytes.count, odd * 16 <= even { return Form(width: 2, isBigEndian: true) }
        return nil
    }

    /// The encoding that the media type declares.
    private static func formOfMediaType(_ bytes: [UInt8], _ type: String) -> Form? {
        for width in [4, 2] where type.contains("utf-\(8 * width)") {
            if type.contains("utf-\(8 * width)le") { return Form(width: width, isBigEndian: false) }
            if type.contains("utf-\(8 * width)be") { return Form(width: width, isBigEndian: true) }
            let zeros = zeros(bytes)
            let isBigEndian = width == 2 ? zeros[0] + zeros[2] > zeros[1] + zeros[3] : zeros[0] > zeros[3]
            return Form(width: width, isBigEndian: isBigEndian)
        }
        return nil
    }

    /// The encoding of a text with few ASCII characters, detected by its first character.
    private static func formOfFirstCharacter(_ bytes: [UInt8]) -> Form? {
        for width in [4, 2] {
            let first = bytes.prefix(width).filter { $0 != 0 }
            guard first.count == 1, "<{[".utf8.contains(first[0]) else { continue }
            if bytes[0] == first[0] { return Form(width: width, isBigEndian: false) }
            if bytes[width - 1] == first[0] { return Form(width: width, isBigEndian: true) }
        }
        return nil
    }

    /// The number of zeros at each position modulo four.
    private static func zeros(_ bytes: [UInt8]) -> [Int] {
        var zeros = [0, 0, 0, 0]
        bytes.withUnsafeBufferPointer { bytes in
            for place in bytes.indices where bytes[place] == 0 { zeros[place & 3] += 1 }
        }
        return zeros
    }

    /// Encodes a replacement in the encoding of this text.
    func encoded(_ text: [UInt8]) -> [UInt8] {
        let text = String(decoding: text, as: UTF8.self)
        var bytes: [UInt8] = []
        func append(_ unit: UInt32) {
            for place in 0..<form.width {
                let shift = 8 * (form.isBigEndian ? form.width - 1 - place : place)
                bytes.append(UInt8(truncatingIfNeeded: unit >> UInt32(shift)))
            }
        }
        if form.width == 2 {
            for unit in text.utf16 { append(UInt32(unit)) }
        } else {
            for scalar in text.unicodeScalars { append(scalar.value) }
        }
        return bytes
    }

    /// Returns another text in this encoding, with the mark.
    func whole(_ text: [UInt8]) -> [UInt8] { mark + encoded(text) }
}
