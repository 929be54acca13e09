"""Creates and reads zip archives with Python's zipfile and Info-ZIP's zip, for the tests of ZipExtraction.

Reads one request on standard input and prints one JSON value.

- {"deflate": N} returns N zero bytes, deflated, in base64.
- {"make": FOLDER} creates archives in that folder and returns {file name: {path: SHA-256, or null for a folder}}.
- {"many": N, "in": FILE} creates an archive of N empty files with the names 0, 1, …, and returns null.
- {"read": [FILE, …]} returns for each archive what zipfile reads, as {path: SHA-256, or null for a folder}, or null if
  zipfile cannot read it.
"""

import base64
import hashlib
import io
import json
import pathlib
import random
import shutil
import subprocess
import sys
import zipfile
import zlib

CONTENT = {
    "film.json": b'{"name": "film"}' * 2000,
    "luts/warm/höhe.cube": bytes(range(256)) * 700,
    "luts/日本語.txt": "日本語".encode() * 5,
    "empty": b"",
    "noise.bin": random.Random(1).randbytes(300_000),
    "name with spaces & 'quotes'.txt": b"x",
    "run.sh": b"#!/bin/sh\n",
}
FOLDERS = ["luts/", "nothing/inside/"]


class Unseekable(io.RawIOBase):
    """A stream that cannot seek, like a pipe. zipfile then writes the sizes after the data."""

    def __init__(self, file):
        self.file = file

    def writable(self):
        return True

    def write(self, data):
        return self.file.write(data)


def digest(data):
    return hashlib.sha256(data).hexdigest()


def write_all(archive, zip64=False):
    for folder in FOLDERS:
        archive.writestr(zipfile.ZipInfo(folder), b"")
    for name, data in CONTENT.items():
        info = zipfile.ZipInfo(name)
        info.compress_type = archive.compression
        info.external_attr = (0o104755 if name.endswith(".sh") else 0o100600) << 16
        with archive.open(info, "w", force_zip64=zip64) as file:
            file.write(data)
    archive.comment = b"made by zipfile"


def make(folder):
    for label, method in (("stored", zipfile.ZIP_STORED), ("deflated", zipfile.ZIP_DEFLATED)):
        for zip64 in (False, True):
            name = f"{label}{'-zip64' if zip64 else ''}"
            with zipfile.ZipFile(folder / f"{name}.zip", "w", method) as archive:
                write_all(archive, zip64)
            with open(folder / f"{name}-streamed.zip", "wb") as file, \
                    zipfile.ZipFile(Unseekable(file), "w", method) as archive:
                write_all(archive, zip64)
    made = {path.name: {**{name: digest(data) for name, data in CONTENT.items()},
                        **{name.rstrip("/"): None for name in [*FOLDERS, "nothing", "luts/warm"]}}
            for path in folder.glob("*.zip")}
    tree = folder / "tree"
    for name in FOLDERS:
        (tree / name).mkdir(parents=True, exist_ok=True)
    for name, data in CONTENT.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_bytes(data)
    for name, options in (("info", ["-9"]), ("info-stored", ["-0"]), ("info-zip64", ["-fz"]), ("info-plain", ["-X"]),
                          ("info-descriptors", ["-fd"])):
        subprocess.run(["zip", "-q", "-r", *options, str(folder / f"{name}.zip"), "."], cwd=tree, check=True)
    with open(folder / "info-piped.zip", "wb") as file:
        subprocess.run(["zip", "-q", "-r", "-", "."], cwd=tree, check=True, stdout=file)
    for name in ("info", "info-stored", "info-zip64", "info-plain", "info-descriptors", "info-piped"):
        made[f"{name}.zip"] = made["stored.zip"]
    shutil.rmtree(tree)
    return made


def read(path):
    try:
        with zipfile.ZipFile(path) as archive:
            found = {}
            for info in archive.infolist():
                parts = info.filename.rstrip("/").split("/")
                for depth in range(1, len(parts)):
                    found["/".join(parts[:depth])] = None
                found["/".join(parts)] = None if info.is_dir() else digest(archive.read(info))
            return found
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, OSError):
        return None


request = json.load(sys.stdin)
if "deflate" in request:
    compressor = zlib.compressobj(9, zlib.DEFLATED, -15)
    answer = base64.b64encode(compressor.compress(bytes(request["deflate"])) + compressor.flush()).decode()
elif "make" in request:
    answer = make(pathlib.Path(request["make"]))
elif "many" in request:
    answer = None
    with zipfile.ZipFile(request["in"], "w") as archive:
        for number in range(request["many"]):
            archive.writestr(str(number), b"")
else:
    answer = [read(path) for path in request["read"]]
print(json.dumps(answer))
