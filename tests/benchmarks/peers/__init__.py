"""Other shippers beside rsyslog, on the same work in one run: a file for each."""
