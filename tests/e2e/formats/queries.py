"""Databases and what a job should make of them, for test_query.sh.

    queries.py sqlite FILE ROWS          makes a table `people`
    queries.py postgres ROWS             prints SQL that makes the same
    queries.py wanted ROWS               the rows that a program gets of it, as lines of JSON, in the order of id
    queries.py echo                      a program (scorer.command) that answers with its rows
"""
import json, sys, time


def row(i):
    return {
        "id": i * 4294967296 + 7,
        "name": [f"Zo\u00eb {i}", "", None, "\U0001f680 'quoted' \"text\"", "x" * (i % 9000)][i % 5],
        "share": None if i % 11 == 0 else i / 8 - 1000,
        "small": i % 128,
    }


def sqlite(file, rows):
    import sqlite3
    with sqlite3.connect(file) as db:
        db.execute("CREATE TABLE people (id BIGINT, name TEXT, share DOUBLE, small SMALLINT)")
        db.executemany("INSERT INTO people VALUES (:id, :name, :share, :small)", map(row, range(rows)))


def postgres(rows):
    print("CREATE TABLE people (id bigint, name text, share double precision, small smallint, is_odd boolean,"
          " price numeric(12, 2), day date);\nBEGIN;\nCOPY people FROM stdin;")
    for i in range(rows):
        one = row(i)
        cells = [one["id"], one["name"], one["share"], one["small"], i % 2 == 1, f"{i}.50", f"2026-11-{i % 28 + 1:02d}"]
        print("\t".join("\\N" if cell is None else str(cell).replace("\\", "\\\\") for cell in cells))
    print("\\.\nCOMMIT;")


def wanted(rows, more):
    for i in range(rows):
        one = row(i)
        if more:
            one.update(is_odd=i % 2 == 1, price=f"{i}.50", day=f"2026-11-{i % 28 + 1:02d}")
        print(json.dumps({"id": one["id"], "whole": one}))


def echo(pause):
    import windlass
    windlass.serve(lambda rows: (time.sleep(pause), [{"whole": one} for one in rows])[1])


if sys.argv[1] == "sqlite":
    sqlite(sys.argv[2], int(sys.argv[3]))
elif sys.argv[1] == "postgres":
    postgres(int(sys.argv[2]))
elif sys.argv[1] == "wanted":
    wanted(int(sys.argv[2]), len(sys.argv) > 3)
else:
    echo(float(sys.argv[2]))
