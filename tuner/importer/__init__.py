"""RainerScript that somebody else wrote: read with places, translated into a profile."""
