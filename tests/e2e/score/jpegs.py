"""jpegs.py FOLDER: writes JPEG files of all kinds that matter to decoders, by libjpeg-turbo: 8 that nvJPEG may get, 4
that it may not.
jpegs.py FOLDER FOLDER MOST: the pictures of both differ in the mean by no more than MOST of 255."""
import ctypes, os, sys
import numpy

turbo = ctypes.CDLL("libturbojpeg.so.0")
turbo.tjInitCompress.restype = turbo.tjInitDecompress.restype = ctypes.c_void_p
RGB, CMYK, PROGRESSIVE = 0, 11, 16384
S444, S422, S420, GREY = 0, 1, 2, 3


def make(sampling, format=RGB, flags=0):
    y, x = numpy.mgrid[0:48, 0:80]
    planes = [x * 2 + y, 255 - 3 * x, 4 * y + 20 * (x // 20 % 2), 0 * x + 220][: 4 if format == CMYK else 3]
    pixels = numpy.stack(planes, axis=2).clip(0, 255).astype(numpy.uint8).tobytes()
    data, size = ctypes.POINTER(ctypes.c_ubyte)(), ctypes.c_ulong()
    handle = ctypes.c_void_p(turbo.tjInitCompress())
    assert turbo.tjCompress2(handle, pixels, 80, 0, 48, format, ctypes.byref(data), ctypes.byref(size), sampling, 92, flags) == 0
    return ctypes.string_at(data, size.value)


def read(path):
    data = open(path, "rb").read()
    handle, size = ctypes.c_void_p(turbo.tjInitDecompress()), [ctypes.c_int() for _ in range(4)]
    assert turbo.tjDecompressHeader3(handle, data, ctypes.c_ulong(len(data)), *(ctypes.byref(s) for s in size)) == 0
    width, height = size[0].value, size[1].value
    pixels = ctypes.create_string_buffer(width * height * 3)
    assert turbo.tjDecompress2(handle, data, ctypes.c_ulong(len(data)), pixels, width, 0, height, RGB, 0) == 0
    return numpy.frombuffer(pixels.raw, numpy.uint8).astype(float)


def insert(data, segment):
    return data[:2] + segment + data[2:]


if len(sys.argv) == 4:
    names = sorted(name for name in os.listdir(sys.argv[1]) if name.endswith(".jpg"))
    assert len(names) == 10 and names == sorted(n for n in os.listdir(sys.argv[2]) if n.endswith(".jpg"))
    worst = max(numpy.abs(read(f"{sys.argv[1]}/{n}") - read(f"{sys.argv[2]}/{n}")).mean() for n in names)
    print(f"# pictures differ by {worst:.2f} of 255 in the mean at most")
    sys.exit(int(not 0 < worst <= float(sys.argv[3])))

exif = b"\xff\xe1\0\x22Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06" + bytes(6)
adobe = b"\xff\xee\0\x0eAdobe\0\x01" + bytes(5)
sound = make(S420)
files = {
    "a-420": sound, "b-422": make(S422), "c-444": make(S444), "d-grey": make(GREY),
    "e-progressive": make(S420, flags=PROGRESSIVE), "f-progressive-grey": make(GREY, flags=PROGRESSIVE),
    "g-turned": insert(sound, exif), "h-420": make(S420),
    "i-inks": make(S444, CMYK), "j-rgb": insert(make(S444), adobe),
    "k-cut": sound[: len(sound) * 2 // 3], "l-none": sound[:300],
}
for name, data in files.items():
    open(f"{sys.argv[1]}/{name}.jpg", "wb").write(data)
