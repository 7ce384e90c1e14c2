"""onegrad cite: BibTeX of the results used."""

from __future__ import annotations

import argparse
from typing import Any

from onegrad import __version__
from onegrad.cli.options import add_json_option
from onegrad.cli.output import print_json

ENTRIES = {
    "onegrad": f"""@software{{onegrad,
  title   = {{onegrad: what one gradient step learns}},
  author  = {{{{The onegrad developers}}}},
  version = {{{__version__}}},
  year    = {{2026}}
}}""",
    "moniri2024": """@inproceedings{moniri2024theory,
  title     = {A Theory of Non-Linear Feature Learning with One Gradient Step in Two-Layer Neural Networks},
  author    = {Moniri, Behrad and Lee, Donghwan and Hassani, Hamed and Dobriban, Edgar},
  booktitle = {International Conference on Machine Learning},
  year      = {2024}
}""",
    "ba2022": """@inproceedings{ba2022high,
  title     = {High-dimensional Asymptotics of Feature Learning: How One Gradient Step Improves the Representation},
  author    = {Ba, Jimmy and Erdogdu, Murat A. and Suzuki, Taiji and Wang, Zhichao and Wu, Denny and Yang, Greg},
  booktitle = {Advances in Neural Information Processing Systems},
  year      = {2022}
}""",
    "cui2024": """@inproceedings{cui2024asymptotics,
  title     = {Asymptotics of Feature Learning in Two-Layer Networks after One Gradient-Step},
  author    = {Cui, Hugo and Pesce, Luca and Dandi, Yatin and Krzakala, Florent and Lu, Yue M. and Zdeborov{\\'a}, Lenka and Loureiro, Bruno},
  booktitle = {International Conference on Machine Learning},
  year      = {2024}
}""",
}  # fmt: skip

USES = {
    "onegrad": "the software, and the uniform theory",
    "moniri2024": "staircase, spikes, equivalence theorems",
    "ba2022": "constant step, kernel lower bound, tau*",
    "cui2024": "the maximal step with constant readout",
}


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "cite",
        help="BibTeX of the results used",
        description="Print BibTeX for the software and the papers whose results it implements.",
        epilog="example: onegrad cite > onegrad.bib",
    )
    add_json_option(parser)


def run(args: argparse.Namespace) -> int:
    if args.json:
        entries = [{"key": k, "used_for": USES[k], "bibtex": v} for k, v in ENTRIES.items()]
        print_json({"entries": entries})
        return 0
    for key, entry in ENTRIES.items():
        print(f"% {USES[key]}\n{entry}\n")
    return 0
