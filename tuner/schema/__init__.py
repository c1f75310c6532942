"""What every section of a profile is made of: scalars, units, marks on parameters."""
