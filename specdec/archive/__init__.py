"""A finished study as one file that opens elsewhere: packed with checksums, unpacked only if they all hold."""
