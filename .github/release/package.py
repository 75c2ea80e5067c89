#!/usr/bin/env python3
"""The archives of a release, and their checksums. Usage: package.py VERSION BINARIES COMPLETIONS OUT

BINARIES has a folder for each target, named by it, with `review` or `review.exe` in it. OUT gets `review-VERSION-TARGET.tar.gz` for each,
with the program, README, changelog, licences and completions below one folder, and `SHA256SUMS`. `.github/action/install.sh` reads what is
written here. Order, owners, modes and times are fixed, so that the same input makes the same bytes.
"""

import gzip
import hashlib
import io
import os
import pathlib
import sys
import tarfile

BESIDE = ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"]


def archive(folder, files):
    """The bytes of a .tar.gz with these (name, bytes, mode) below `folder`."""
    when = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, data, mode in files:
            member = tarfile.TarInfo(f"{folder}/{name}")
            member.size, member.mode, member.mtime = len(data), mode, when
            tar.addfile(member, io.BytesIO(data))
    packed = io.BytesIO()
    with gzip.GzipFile(filename="", fileobj=packed, mode="wb", compresslevel=9, mtime=when) as out:
        out.write(raw.getvalue())
    return packed.getvalue()


def main(version, binaries, completions, out):
    top = pathlib.Path(__file__).resolve().parents[2]
    binaries, completions, out = map(pathlib.Path, (binaries, completions, out))
    out.mkdir(parents=True, exist_ok=True)
    shared = [(name, (top / name).read_bytes(), 0o644) for name in BESIDE]
    shared += [(f"completions/{path.name}", path.read_bytes(), 0o644) for path in sorted(completions.iterdir())]
    sums = []
    for target in sorted(binaries.iterdir()):
        program = target / ("review.exe" if "windows" in target.name else "review")
        folder = f"review-{version}-{target.name}"
        data = archive(folder, [(program.name, program.read_bytes(), 0o755), *shared])
        (out / f"{folder}.tar.gz").write_bytes(data)
        sums.append(f"{hashlib.sha256(data).hexdigest()}  {folder}.tar.gz\n")
    if not sums:
        sys.exit(f"no target in {binaries}")
    (out / "SHA256SUMS").write_text("".join(sums), newline="\n")
    print("".join(sums), end="")


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    main(*sys.argv[1:])
