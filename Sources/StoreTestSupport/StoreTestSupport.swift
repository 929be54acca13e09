@_exported import BaseTestSupport
