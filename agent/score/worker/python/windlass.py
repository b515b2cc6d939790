"""What a Windlass scorer in Python needs: init(arguments) once, run(mini_batch) for each mini-batch.

    import windlass
    def run(mini_batch):                 # a list of paths, or of rows
        return [len(item) for item in mini_batch]
    windlass.serve(run)

run returns, or yields, one result an item: any JSON value, or an exception, with which this item has failed; what is
yielded is sent while run goes on. Or it returns a NumPy array, whose slices are the results, or a dictionary of arrays,
{"vector": array, "score": array}, whose members the results have: numbers go as they are in memory. Or it returns a
pandas DataFrame, a row an item.
"""
import io, json, os, sys, traceback

LINE = 1 << 20  # bytes of results in a line, about
BODY = 16 << 20  # bytes of an array behind a line, about


def _plain(value):
    """For JSON: NumPy's numbers and arrays, tensors."""
    return value.tolist()


def _array(value):
    """As an array of numbers; None: it is not one."""
    if not hasattr(value, "__array__") or not getattr(value, "shape", ()):
        return None
    import numpy
    array = numpy.ascontiguousarray(value)
    kind, size = array.dtype.kind, array.dtype.itemsize
    if kind not in "biuf":
        return None
    if kind == "u" and size in (2, 4):
        return array.astype("i8")
    if size > 8 or (kind == "u" and size == 8):
        raise TypeError(f"run() returned an array of {array.dtype.name}, expected bool, int8 to int64, uint8 to uint32,"
                        " or float16 to float64")
    return array


class _Answer:
    """The answer to one request: lines with "more", then one without."""

    def __init__(self, out, number):
        self.out, self.number, self.count = out, number, 0
        self.results, self.failed, self.size = [], {}, 0

    def line(self, member, more):
        failed = ',"failed":' + json.dumps(self.failed) if self.failed else ""
        more = ',"more":true' if more else ""
        self.out.write(f'{{"id":{self.number},{member}{failed}{more}}}\n'.encode())
        self.failed = {}

    def flush(self, more):
        self.line('"results":[' + ",".join(self.results) + "]", more)
        self.results, self.size = [], 0

    def add(self, result):
        if isinstance(result, Exception):
            self.failed[self.count] = f"{type(result).__name__}: {result}"
            result = None
        text = json.dumps(result, allow_nan=False, default=_plain)
        self.results.append(text)
        self.count += 1
        self.size += len(text)
        if self.size > LINE:
            self.flush(more=True)

    def add_arrays(self, arrays):
        """arrays: {name: array}; the only one may have the name None."""
        import numpy
        lengths = {len(array) for array in arrays.values()}
        if len(lengths) != 1:
            raise ValueError(f"arrays of {sorted(lengths)} rows")
        rows = lengths.pop()
        step = max(1, BODY * rows // max(1, *(array.nbytes for array in arrays.values())))
        for first in range(0, rows, step):
            bodies = {}
            for name, array in arrays.items():
                body = io.BytesIO()
                numpy.save(body, array[first:first + step], allow_pickle=False)
                bodies[name] = body.getvalue()
            sizes = {name: len(body) for name, body in bodies.items()}
            self.line('"npy":' + json.dumps(sizes.get(None, sizes)), more=True)
            self.out.writelines(bodies.values())

    def add_all(self, results):
        if hasattr(results, "to_dict") and hasattr(results, "columns"):
            results = results.astype(object).where(results.notna(), None).to_dict("records")
        named = results if isinstance(results, dict) else {None: results}
        arrays = {name: _array(value) for name, value in named.items()}
        if arrays and all(array is not None for array in arrays.values()):
            self.add_arrays(arrays)
        elif isinstance(results, (dict, str)):
            raise TypeError(f"run() returned a {type(results).__name__}, expected one result an item")
        else:
            for result in results:
                self.add(result)
        self.flush(more=False)


def serve(run, init=lambda arguments: None):
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever prints, prints into the log
    for line in sys.stdin.buffer:
        request = json.loads(line)
        try:
            if "init" in request:
                ready = init(request["init"]["arguments"]) is not False
                out.write(json.dumps({"ready": ready}).encode() + b"\n")
            else:
                _Answer(out, request["id"]).add_all(run(request["items"]))
        except Exception as error:
            traceback.print_exc()
            answer = {"id": request["id"]} if "id" in request else {}
            out.write(json.dumps({**answer, "error": f"{type(error).__name__}: {error}"}).encode() + b"\n")
        out.flush()
