#!/usr/bin/env bash
# mpi-image.sh: Debian's Python, mpi4py and Open MPI as registry.test/mpi:1: a user's training image. It has no
# server that could start a program on request. The same image has the name that examples/command uses.
exec "$(dirname "$0")/debian-image.sh" registry.test/mpi:1,docker.io/library/python:3.11-slim-bookworm stock.tar \
    python3,python3-mpi4py,openmpi-bin
