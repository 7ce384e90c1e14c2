"""Image sets come from a folder that --data names; without it a study leaves them out."""

from pathlib import Path

import numpy as np
import pytest

from onegrad.exceptions import InvalidInput
from onegrad.studies import gallery
from onegrad.studies.measures.data_sets import (
    CIFAR_ROW_BYTES,
    FOLDER_VARIABLE,
    read_cifar,
    read_images,
    use_image_folder,
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(FOLDER_VARIABLE, "")
    use_image_folder(tmp_path)
    return tmp_path


def write_cifar(folder: Path, rows: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(rows)
    classes, pixels = rng.integers(0, 10, rows), rng.integers(0, 256, (rows, 3072))
    with (folder / f"data_batch_{rows}.bin").open("wb") as file:
        for label, image in zip(classes, pixels, strict=True):
            file.write(bytes([label]) + bytes(image.tolist()))
    return pixels, classes


@pytest.mark.parametrize("own", ["", "cifar-10-batches-bin"])
def test_the_binary_files_of_cifar(folder: Path, own: str) -> None:
    (folder / own).mkdir(exist_ok=True)
    written = [write_cifar(folder / own, rows) for rows in (3, 5)]
    pixels, classes = (np.concatenate(x) for x in zip(*written, strict=True))
    X, y = read_images("cifar-10", 3072)
    assert pytest.approx((pixels - pixels.mean()) / pixels.std()) == X
    assert y.tolist() == np.where(classes >= 5, 1.0, -1.0).tolist()


@pytest.mark.parametrize("content", [b"", bytes(CIFAR_ROW_BYTES - 1), bytes([10]) + bytes(3072)])
def test_a_file_that_is_not_cifar_is_refused(folder: Path, content: bytes) -> None:
    (folder / "data_batch_1.bin").write_bytes(content)
    with pytest.raises(InvalidInput, match=r"data_batch_1\.bin is not rows of 3073 bytes"):
        read_cifar([folder / "data_batch_1.bin"])


def test_pixels_and_classes_of_an_npz_file(folder: Path) -> None:
    X = np.arange(24, dtype=np.uint8).reshape(4, 6)
    np.savez(folder / "mnist.npz", X=X, y=np.array([0, 4, 5, 9]))
    pixels, y = read_images("mnist", 6)
    assert pixels.mean() == pytest.approx(0) and pixels.std() == pytest.approx(1)
    assert y.tolist() == [-1, -1, 1, 1]
    with pytest.raises(InvalidInput, match="d must be 6, the pixels of mnist"):
        read_images("mnist", 5)


def test_what_is_missing_is_said(folder: Path) -> None:
    with pytest.raises(InvalidInput, match=r"fashion\.npz"):
        read_images("fashion", 784)
    with pytest.raises(InvalidInput, match="an existing folder"):
        use_image_folder(folder / "nowhere")


def test_a_study_leaves_out_the_images_that_it_cannot_read(folder: Path) -> None:
    def images() -> set[str]:
        study = gallery.select(["full-training"])["full-training"]
        return {grid.name for grid in study.spec.grids} & {"digits", "mnist", "fashion", "cifar-10"}

    assert images() == {"digits"}
    np.savez(folder / "mnist.npz", X=np.zeros((2, 784)), y=np.zeros(2))
    assert images() == {"digits", "mnist"}
