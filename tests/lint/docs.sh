#!/usr/bin/env bash
cd "$(dirname "$0")/../.." || exit 3
exec python3 tests/lint/docs.py
