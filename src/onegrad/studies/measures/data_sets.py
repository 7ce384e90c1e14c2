"""Images as rows of pixels, with labels from their classes."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from onegrad.arrays import Floats
from onegrad.exceptions import InvalidInput, check_choice

FOLDER_VARIABLE = "ONEGRAD_DATA"  # of the environment, which worker processes inherit
IMAGE_FILES = {"mnist": "mnist.npz", "fashion": "fashion.npz", "cifar-10": "data_batch_*.bin"}
MAX_IMAGES = 16_000  # of a set
CIFAR_ROW_BYTES = 1 + 3072


def use_image_folder(folder: Path) -> None:
    """Read image sets from this folder, here and in processes that are started from now on."""
    if not folder.is_dir():
        raise InvalidInput("data", str(folder), "an existing folder")
    os.environ[FOLDER_VARIABLE] = str(folder.resolve())


def has_images(data: str) -> bool:
    """Return whether the images of this name can be read here."""
    return data not in IMAGE_FILES or bool(_image_files(data))


def _image_files(data: str) -> list[Path]:
    """Return the files of an image set in the folder or, for CIFAR-10, in its own folder there."""
    folder, pattern = os.environ.get(FOLDER_VARIABLE), IMAGE_FILES[data]
    if not folder:
        return []
    files = sorted(Path(folder).glob(pattern))
    return files or sorted(Path(folder).glob(f"cifar-10-batches-bin/{pattern}"))


def read_images(data: str, d: int) -> tuple[Floats, Floats]:
    """Return images, pixels of mean 0 and variance 1, and labels: 1 for classes >= 5, otherwise -1.

    data : digits, which come with scikit-learn, or a set in the folder that `--data` names:
        NAME.npz with X (rows of pixels) and y (classes), or CIFAR-10's own binary files. Its first
        MAX_IMAGES are used.
    d : the number of pixels, which is checked.
    """
    check_choice("options.data", data, ("digits", *IMAGE_FILES))
    if data == "digits":
        import sklearn.datasets

        images = sklearn.datasets.load_digits()
        X, classes = images.data, images.target
    else:
        files = _image_files(data)
        if not files:
            folder = os.environ.get(FOLDER_VARIABLE) or None
            raise InvalidInput("data", folder, f"a folder with {IMAGE_FILES[data]}")
        if data == "cifar-10":
            X, classes = read_cifar(files)
        else:
            X, classes = _read_arrays(files[0])
    X = np.asarray(X[:MAX_IMAGES], dtype=float)
    if X.shape[1] != d:
        raise InvalidInput("d", d, f"{X.shape[1]}, the pixels of {data}")
    return (X - X.mean()) / X.std(), np.where(np.asarray(classes[:MAX_IMAGES]) >= 5, 1.0, -1.0)


def _read_arrays(file: Path) -> tuple[Any, Any]:
    """Return X and y of an .npz file; raise InvalidInput."""
    try:
        with np.load(file, allow_pickle=False) as arrays:
            return arrays["X"], arrays["y"]
    except (OSError, KeyError, ValueError) as error:
        allowed = f"an .npz file with X and y ({error})"
        raise InvalidInput("data", file.name, allowed) from None


def read_cifar(files: Sequence[Path]) -> tuple[Any, Any]:
    """Return pixels (rows, 3072) and classes (rows,) of CIFAR-10's binary files.

    A row is one byte, the class, and 3072 bytes of pixels: 1024 red, 1024 green, 1024 blue.
    """
    blocks = []
    for file in files:
        content = np.frombuffer(file.read_bytes(), dtype=np.uint8)
        whole_rows = content.size and not content.size % CIFAR_ROW_BYTES
        if not whole_rows or content[::CIFAR_ROW_BYTES].max() > 9:
            problem = f"{file.name} is not rows of {CIFAR_ROW_BYTES} bytes that begin with a class"
            raise InvalidInput("data", problem=problem)
        blocks.append(content.reshape(-1, CIFAR_ROW_BYTES))
    rows = np.concatenate(blocks)
    return rows[:, 1:], rows[:, 0]
