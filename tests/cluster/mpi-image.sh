#!/usr/bin/env bash
# mpi-image.sh: Debian's Python, mpi4py and Open MPI as registry.test/mpi:1: a user's training image. It has no
# server that could start a program on request.
exec "$(dirname "$0")/debian-image.sh" registry.test/mpi:1 mpi.tar python3,python3-mpi4py,openmpi-bin
