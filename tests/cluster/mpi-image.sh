#!/usr/bin/env bash
# mpi-image.sh: Debian's Python, mpi4py and Open MPI as registry.test/mpi:1: what a user trains with. There is no server in
# it that could be asked to start a program.
exec "$(dirname "$0")/debian-image.sh" registry.test/mpi:1 mpi.tar python3,python3-mpi4py,openmpi-bin
