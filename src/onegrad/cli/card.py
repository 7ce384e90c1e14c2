"""The card of a fitted model: one self-contained HTML page, card.html filled with its facts."""

import base64
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from onegrad.io.files import atomic_write


def write_card(path: Path, estimator: Any, assessment: Any, title: str) -> None:
    """Write the card of a model; without an assessment it has no scores beside a baseline."""
    from jinja2 import Environment, FileSystemLoader

    folder = FileSystemLoader(Path(__file__).parent)
    environment = Environment(loader=folder, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters["number"] = _number
    html = environment.get_template("card.html").render(
        title=title,
        report=estimator.report(),
        assessment=assessment,
        pictures=_pictures(estimator, assessment),
        max_inputs=6,  # columns that the table of rows shows
        classifies=hasattr(estimator, "classes_"),
    )
    with atomic_write(path) as file:
        file.write(html.encode("utf-8", "backslashreplace"))


def _number(value: Any) -> str:
    """Return a value of a table in few characters."""
    if value is None:
        return "–"
    return f"{value:.4g}" if isinstance(value, float) else f"{value!s:.40}"


def _pictures(estimator: Any, assessment: Any) -> Iterator[dict[str, str]]:
    """Yield what each picture of the page shows, and its bytes as an address."""
    from onegrad.pictures import model_plots as plots

    names, importances = estimator.column_names_, estimator.feature_importances_
    caption = "Importance of each column: higher held-out loss when it is permuted."
    yield _picture(caption, plots.draw_importances, names, importances)
    if assessment is None:
        return
    if assessment.confidence is not None:
        caption = "Fraction of correct predictions against predicted probability."
        yield _picture(caption, plots.draw_calibration, assessment.confidence, assessment.correct)
    elif assessment.width is not None:
        true, predicted, width = assessment.true, assessment.predicted, assessment.width
        caption = "Predicted and true values of held-out rows."
        yield _picture(caption, plots.draw_predictions, predicted, true)
        values = predicted, predicted - width, predicted + width, true
        yield _picture("90 % intervals, rows ordered by prediction.", plots.draw_intervals, *values)


def _picture(caption: str, draw: Callable[..., object], *values: Any) -> dict[str, str]:
    import matplotlib

    from onegrad.pictures import style

    with matplotlib.rc_context(style.RC):
        figure, axes = style.panels(1, width=5.4, height=3.6)
        draw(axes[0, 0], *values)
        svg = io.BytesIO()
        figure.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
    data = base64.b64encode(svg.getvalue()).decode()
    return {"caption": caption, "source": f"data:image/svg+xml;base64,{data}"}
