import Foundation

/// A CMS container of signed data with one signer (RFC 5652 section 5). All parts are places in its bytes, without
/// copies.
///
/// A container that can be read in two ways is refused. Restrictions beyond the standard: one signer, named by issuer
/// and serial number; one digest algorithm, that of the signer; no certificate revocation lists, no unsigned
/// attributes, and nothing after the end. The wrappers around the content may have indefinite lengths, as Xcode writes
/// them. All other lengths are in their shortest form.
struct CMSSignedData {
    /// The pieces of the content, in order. One if the octet string is not split.
    let contentPieces: [Range<Int>]
    /// The content of the certificates field.
    let certificateSet: Range<Int>
    /// The algorithms of the signer.
    let algorithm: ReceiptAlgorithm
    /// The content of `IssuerAndSerialNumber`.
    let signerIdentity: Range<Int>
    /// The signed attributes, or `nil` if the signature is over the content itself, as in all receipts of Apple so far.
    let signedAttributes: CMSSignedAttributes?
    let signature: Range<Int>

    /// Parses a container. Throws `malformed`, or `unsupportedAlgorithm` for algorithms that receipts do not have.
    init(_ bytes: UnsafeRawBufferPointer) throws(SignedDataError) {
        do {
            self = try CMSSignedData(reading: bytes)
        } catch let error as BERError {
            throw SignedDataError(.malformed, "The receipt is not a PKCS #7 container: \(error).", underlying: error)
        } catch let error as SignedDataError {
            throw error
        } catch {
            throw SignedDataError(.malformed, "The receipt is not a PKCS #7 container.", underlying: error)
        }
    }

    private init(reading bytes: UnsafeRawBufferPointer) throws {
        var document = BERReader(bytes, rules: .indefiniteLengths)
        let info = try document.read(BERTag.sequence)
        try document.requireEnd()
        var infoReader = document.inside(info)
        try infoReader.readIdentifier(CMSIdentifier.signedData, "the container does not contain signed data")
        let explicit = try infoReader.read(BERTag.context(0))
        try infoReader.requireEnd()
        var explicitReader = infoReader.inside(explicit)
        let signedData = try explicitReader.read(BERTag.sequence)
        try explicitReader.requireEnd()

        // For content of type data and a signer of version 1, the version is 1 (section 5.1).
        var reader = explicitReader.inside(signedData)
        try reader.readVersion1()
        let digests = try reader.read(BERTag.set)
        var digestReader = reader.inside(digests)
        let digestAlgorithm = try digestReader.readDistinguished(BERTag.sequence)
        try digestReader.requireEnd()
        contentPieces = try reader.readContent()
        let certificates = try reader.read(BERTag.context(0))
        certificateSet = certificates.content
        let signers = try reader.read(BERTag.set)
        try reader.requireEnd()
        var signersReader = reader.inside(signers)
        let signer = try signersReader.readDistinguished(BERTag.sequence)
        try signersReader.requireEnd()

        var signerReader = BERReader(bytes, in: signer.content, rules: .distinguished)
        try signerReader.readVersion1()
        signerIdentity = try signerReader.read(BERTag.sequence).content
        let signerDigest = try signerReader.read(BERTag.sequence)
        guard bytes[digestAlgorithm.whole].elementsEqual(bytes[signerDigest.whole]) else {
            throw BERError(position: digestAlgorithm.start, problem: "the digest algorithms are not the signer's")
        }
        let attributes = try signerReader.readIfPresent(BERTag.context(0))
        let signatureAlgorithm = try signerReader.read(BERTag.sequence)
        signature = try signerReader.read(BERTag.octetString).content
        try signerReader.requireEnd()
        algorithm = try ReceiptAlgorithm(
            digest: signerReader.inside(signerDigest), signature: signerReader.inside(signatureAlgorithm))
        signedAttributes = try attributes.map { try CMSSignedAttributes($0, in: signerReader) }
    }

    /// Returns the places of the certificates, in their order. Each is DER. Elements that are not certificates are
    /// refused (RFC 5652 section 10.2.3).
    func certificates(in bytes: UnsafeRawBufferPointer) throws(BERError) -> [Range<Int>] {
        var reader = BERReader(bytes, in: certificateSet, rules: .distinguished)
        var places: [Range<Int>] = []
        while !reader.isAtEnd {
            guard places.count < 16 else { throw BERError(position: reader.position, problem: "too many certificates") }
            places.append(try reader.read(BERTag.sequence).whole)
        }
        return places
    }
}

extension BERReader {
    fileprivate mutating func readIdentifier(_ identifier: [UInt8], _ problem: StaticString) throws(BERError) {
        let element = try read(BERTag.objectIdentifier)
        guard content(of: element, equals: identifier) else {
            throw BERError(position: element.start, problem: problem)
        }
    }

    fileprivate mutating func readVersion1() throws(BERError) {
        let version = try read(BERTag.integer)
        guard content(of: version, equals: [1]) else {
            throw BERError(position: version.start, problem: "the version is not 1")
        }
    }

    /// Reads the next element, which must have a definite length in its shortest form.
    fileprivate mutating func readDistinguished(_ tag: UInt8) throws(BERError) -> BERElement {
        var strict = BERReader(bytes, in: position..<end, rules: .distinguished)
        _ = try strict.read(tag)
        return try read(tag)
    }

    /// Reads EncapsulatedContentInfo (RFC 5652 section 5.2): data that is not detached.
    fileprivate mutating func readContent() throws(BERError) -> [Range<Int>] {
        let encapsulated = try read(BERTag.sequence)
        var reader = inside(encapsulated)
        try reader.readIdentifier(CMSIdentifier.data, "the content is not of the type data")
        let explicit = try reader.read(BERTag.context(0))
        try reader.requireEnd()
        var explicitReader = reader.inside(explicit)
        let octets = try explicitReader.read()
        try explicitReader.requireEnd()
        guard octets.tag == BERTag.octetString || octets.tag == BERTag.constructedOctetString else {
            throw BERError(position: octets.start, problem: "the content is not an octet string")
        }
        return try pieces(ofOctetString: octets)
    }
}

/// The attributes that a signer signs instead of the content (RFC 5652 sections 5.3 and 11). They contain the digest of
/// the content.
struct CMSSignedAttributes {
    /// The place of the whole field. The signature is over this field with the tag of a set (section 5.4).
    let field: Range<Int>
    let messageDigest: Range<Int>

    /// Parses the attributes. The content type must be data. The content type and the digest must each occur once.
    /// Other attributes, such as the time of signing (section 11.3), are covered by the signature but not used: a
    /// receipt is verified at its creation date.
    init(_ element: BERElement, in outer: BERReader) throws(BERError) {
        field = element.whole
        var reader = outer.inside(element)
        var contentType: Range<Int>?
        var digest: Range<Int>?
        var previous: Range<Int>?
        while !reader.isAtEnd {
            let attribute = try reader.read(BERTag.sequence)
            if let previous, !reader.isAscending(previous, attribute.whole) {
                throw BERError(position: attribute.start, problem: "signed attributes are not in the order of DER")
            }
            previous = attribute.whole
            var parts = reader.inside(attribute)
            let identifier = try parts.read(BERTag.objectIdentifier)
            let values = try parts.read(BERTag.set)
            try parts.requireEnd()
            if parts.content(of: identifier, equals: CMSIdentifier.contentType) {
                contentType = try parts.readSingleValue(of: values, BERTag.objectIdentifier, after: contentType)
            } else if parts.content(of: identifier, equals: CMSIdentifier.messageDigest) {
                digest = try parts.readSingleValue(of: values, BERTag.octetString, after: digest)
            }
        }
        guard let contentType, let digest else {
            throw BERError(position: element.start, problem: "the signed attributes lack the content's type or digest")
        }
        guard reader.bytes[contentType].elementsEqual(CMSIdentifier.data) else {
            throw BERError(position: contentType.lowerBound, problem: "the signed content type is not data")
        }
        messageDigest = digest
    }

    /// Returns the bytes that the signature is over.
    func signedBytes(in bytes: UnsafeRawBufferPointer) -> [UInt8] {
        [BERTag.set] + bytes[field.dropFirst()]
    }
}

extension BERReader {
    /// Returns the single value of an attribute that may occur once (RFC 5652 sections 11.1 and 11.2).
    fileprivate func readSingleValue(
        of values: BERElement, _ tag: UInt8, after earlier: Range<Int>?
    ) throws(BERError) -> Range<Int> {
        guard earlier == nil else { throw BERError(position: values.start, problem: "a signed attribute occurs twice") }
        var reader = inside(values)
        let value = try reader.read(tag)
        try reader.requireEnd()
        return value.content
    }

    /// Returns whether two elements of a set are in the order of DER (X.690 section 11.6). Two equal elements are not.
    fileprivate func isAscending(_ first: Range<Int>, _ second: Range<Int>) -> Bool {
        bytes[first].lexicographicallyPrecedes(bytes[second])
    }
}
