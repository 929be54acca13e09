/// An attribute of a receipt, unchanged: a number that identifies its meaning, and a value, usually in ASN.1.
package struct ReceiptAttribute: Hashable, Sendable {
    /// The number of the attribute.
    package var type: Int
    /// The version of the attribute's format, usually 1.
    package var version: Int
    /// The bytes of the value.
    package var value: ArraySlice<UInt8>

    package init(type: Int, version: Int = 1, value: ArraySlice<UInt8>) {
        self.type = type
        self.version = version
        self.value = value
    }
}

/// Attributes of a receipt, unchanged and in their order.
///
/// The values share the bytes of the document: a receipt with two hundred purchases has more than a thousand
/// attributes, and a copy of each value would cost more than all other decoding.
package struct ReceiptAttributes: RandomAccessCollection, Sendable, ExpressibleByArrayLiteral {
    private var bytes: ArraySlice<UInt8> = []
    private var places: [Place] = []

    /// The place of an attribute's value in `bytes`, counted from their start.
    private struct Place {
        let type: Int
        let version: Int
        let start: Int
        let end: Int
    }

    package init() {}

    package init(_ attributes: some Sequence<ReceiptAttribute>) {
        for attribute in attributes { append(attribute) }
    }

    package init(arrayLiteral elements: ReceiptAttribute...) { self.init(elements) }

    package var startIndex: Int { 0 }
    package var endIndex: Int { places.count }

    package subscript(position: Int) -> ReceiptAttribute {
        let place = places[position]
        return ReceiptAttribute(
            type: place.type, version: place.version,
            value: bytes[bytes.startIndex + place.start..<bytes.startIndex + place.end])
    }

    package mutating func append(_ attribute: ReceiptAttribute) {
        let start = bytes.count
        bytes.append(contentsOf: attribute.value)
        places.append(
            Place(type: attribute.type, version: attribute.version, start: start, end: start + attribute.value.count))
    }

    /// Creates an empty collection for `append(type:version:place:)`, with values from one document.
    package init(of document: ArraySlice<UInt8>) {
        bytes = document
        places.reserveCapacity(8)
    }

    /// Appends an attribute whose value is at `place` in the document, counted from its start.
    package mutating func append(type: Int, version: Int, place: Range<Int>) {
        places.append(Place(type: type, version: version, start: place.lowerBound, end: place.upperBound))
    }
}

extension ReceiptAttributes: Hashable {
    package static func == (left: ReceiptAttributes, right: ReceiptAttributes) -> Bool { left.elementsEqual(right) }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(count)
        for attribute in self { hasher.combine(attribute) }
    }
}
