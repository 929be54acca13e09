// The files beside this one are those of InAppStore itself, where its types need no import.
@_exported import InAppStore
