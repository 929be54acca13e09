import StoreModel

/// Reads the data of an archive's entries, one by one in the order of their data.
///
/// The structure of the archive was checked before. A reader checks each file's CRC-32 and throws `corrupt` for damaged
/// data. One thread uses it.
package protocol EntryReader: AnyObject, SendableMetatype {
    init(_ file: ArchiveFile) throws(ExtractionError)

    /// Goes to the next entry.
    func advance(to entry: ZipEntry) throws(ExtractionError)

    /// Returns the next bytes of the entry, valid until the next call, and `nil` after the last.
    func nextBlock(of entry: ZipEntry) throws(ExtractionError) -> UnsafeRawBufferPointer?

    /// Called after the last entry. A reader that finds the entries itself throws if there are more of them.
    func finish() throws(ExtractionError)
}
