import StoreModel

/// Reads the data of an archive's entries, one entry after the other in the order of their data.
///
/// The structure of the archive has been judged before. A reader checks each file's CRC-32 and reports every doubt as
/// `corrupt`. One thread uses it.
package protocol EntryReader: AnyObject, SendableMetatype {
    init(_ file: ArchiveFile) throws(ExtractionError)

    /// Goes to the next entry.
    func advance(to entry: ZipEntry) throws(ExtractionError)

    /// Returns the next bytes of the entry, valid until the next call, and `nil` after the last.
    func nextBlock(of entry: ZipEntry) throws(ExtractionError) -> UnsafeRawBufferPointer?

    /// Ends the reading: the archive must have nothing more.
    func finish() throws(ExtractionError)
}
