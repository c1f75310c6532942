"""Unit tests of a pipeline: what messages become, run on a real rsyslogd and compared."""
