#!/usr/bin/env bash
# python-image.sh: Debian's Python, under the name that examples/command uses.
exec "$(dirname "$0")/debian-image.sh" docker.io/library/python:3.11-slim-bookworm python.tar python3
