// The other files are symbolic links to files of InAppStore, which do not import their own module.
@_exported import InAppStore
