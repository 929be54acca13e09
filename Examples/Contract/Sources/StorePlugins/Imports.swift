// The other files are links to those of InAppStore, where its types need no import.
@_exported import InAppStore
