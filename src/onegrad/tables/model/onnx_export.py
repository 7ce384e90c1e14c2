"""A fitted model as an ONNX graph, which other programs and languages run.

The graph has one input, X (rows, columns) in double precision. Regression returns `predicted`;
classification returns `label`, the number of the class, and `probabilities`.
"""

from pathlib import Path
from typing import Any

import numpy as np

from onegrad import __version__
from onegrad.exceptions import InvalidInput
from onegrad.io.files import atomic_write
from onegrad.pictures.style import load_library
from onegrad.tables.model.fitted import Fitted, Member
from onegrad.tables.model.targets import ClassTargets, NumericTargets


class Graph:
    """Nodes of an ONNX graph, added one after the other; every method returns a name."""

    def __init__(self) -> None:
        self.onnx = load_library("onnx", "save_onnx")
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, value: Any) -> str:
        name = f"constant{len(self.constants)}"
        array = np.atleast_1d(np.asarray(value))
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name

    def __call__(self, operation: str, *inputs: Any, name: str = "", **attributes: Any) -> str:
        name = name or f"value{len(self.nodes)}"
        names = [value if isinstance(value, str) else self.constant(value) for value in inputs]
        node = self.onnx.helper.make_node(operation, names, [name], **attributes)
        self.nodes.append(node)
        return name

    def model(self, columns: int, outputs: dict[str, tuple[type[Any], list[Any]]]) -> Any:
        """Return the checked model with its outputs, by name, as types and shapes."""
        helper = self.onnx.helper
        number = helper.np_dtype_to_tensor_dtype
        described = [
            helper.make_tensor_value_info(name, number(np.dtype(kind)), shape)
            for name, (kind, shape) in {"X": (np.float64, ["rows", columns]), **outputs}.items()
        ]
        inputs, results = described[:1], described[1:]
        graph = helper.make_graph(self.nodes, "onegrad", inputs, results, self.constants)
        opset = [helper.make_opsetid("", 17)]
        options = {"producer_name": "onegrad", "producer_version": __version__}
        model = helper.make_model(graph, opset_imports=opset, ir_version=8, **options)
        self.onnx.checker.check_model(model)
        return model


def save_onnx(fitted: Fitted, path: str | Path) -> None:
    """Write a fitted model; refuse one that needs more than numbers and its networks."""
    if fitted.encoding is not None:
        problem = "it was fitted on a table; encode the columns yourself and fit on a matrix"
        raise InvalidInput("model", problem=problem)
    graph, targets = Graph(), fitted.targets
    z = scaled_inputs(graph, fitted)
    scores = [member_scores(graph, z, member) for member in fitted.members]
    t = graph("Div", graph("Sum", *scores), float(len(scores)))
    for part in fitted.parts:
        t = graph("Add", t, part.onnx(graph, z))
    columns = fitted.layers[0].scaling.columns
    if isinstance(targets, NumericTargets):
        y = graph("Add", graph("Mul", t, targets.scale), targets.centre)
        low, high = targets.bounds
        y = graph("Min", graph("Max", y, low), high, name="predicted")
        model = graph.model(columns, {y: (np.float64, ["rows", targets.outputs])})
    elif isinstance(targets, ClassTargets):
        link = fitted.statistics.link
        logits = t if targets.outputs > 1 else graph("Concat", graph("Neg", t), t, axis=1)
        p = graph("Softmax", graph("Mul", logits, link.slope), axis=1)
        epsilon = 1.0 / (link.rows + 2.0)
        shares = link.shares if len(link.shares) else np.zeros(len(targets.values))
        smooth = graph("Add", graph("Mul", p, 1 - epsilon), epsilon * shares, name="probabilities")
        label = graph("ArgMax", logits, axis=1, keepdims=0, name="label")
        shape = ["rows", len(targets.values)]
        model = graph.model(columns, {label: (np.int64, ["rows"]), smooth: (np.float64, shape)})
    else:
        raise InvalidInput("model", problem="several labels per row have no ONNX graph here")
    with atomic_write(Path(path)) as file:
        file.write(model.SerializeToString())


def scaled_inputs(graph: Graph, fitted: Fitted) -> str:
    """Add the nodes that scale X; a constant column, of infinite scale, is zero."""
    scaling = fitted.layers[0].scaling
    x = "X" if scaling.copies == 1 else graph("Concat", *["X"] * scaling.copies, axis=1)
    z = graph("Mul", graph("Sub", x, scaling.centre), 1.0 / scaling.scale)
    if scaling.squash is not None:
        pulled = graph("Mul", z, 1.0 / scaling.squash)
        root = graph("Sqrt", graph("Add", graph("Mul", pulled, pulled), 1.0))
        z = graph("Div", z, root)
    return graph("Min", graph("Max", z, scaling.low), scaling.high)


def member_scores(graph: Graph, z: str, member: Member) -> str:
    """Add the nodes of one network: ReLU features, beside the inputs, times the readout."""
    layer, readout = member.layer, member.readout
    if layer.activation.name != "relu:raw":
        raise InvalidInput("activation", layer.activation.name, problem="only ReLU is exported")
    clipped = z
    if np.isfinite(layer.bound):
        clipped = graph("Min", graph("Max", z, -layer.bound), layer.bound)
    h = graph("Relu", graph("Add", graph("MatMul", clipped, layer.W.T), layer.b))
    skip = layer.width - len(layer.W)
    t = graph("Add", graph("MatMul", h, readout.coef[skip:]), readout.intercept)
    return graph("Add", t, graph("MatMul", z, readout.coef[:skip])) if skip else t
