"""The chart on a real control plane. `./dev test -m cluster` runs these; their programs are built once, see tests/support/cluster/binaries."""
