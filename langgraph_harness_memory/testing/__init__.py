"""Public fakes and contract suites for those who test against this package."""
