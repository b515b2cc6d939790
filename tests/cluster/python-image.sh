#!/usr/bin/env bash
# python-image.sh: Debian's Python, under the name that examples/command uses (and mpi-image.sh's, which are one).
exec "$(dirname "$0")/mpi-image.sh"
