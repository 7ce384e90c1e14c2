"""Real networks: sampling, one gradient step, ridge, errors, spectra."""

from onegrad.networks.cost import Cost as Cost
from onegrad.networks.cost import cost as cost
from onegrad.networks.one_network import MeasuredSpectrum as MeasuredSpectrum
from onegrad.networks.one_network import learned_part as learned_part
from onegrad.networks.one_network import neurons as neurons
from onegrad.networks.one_network import predict_fresh_rows as predict_fresh_rows
from onegrad.networks.one_network import spectrum as spectrum
from onegrad.networks.plan import MODELS as MODELS
from onegrad.networks.plan import GradientGroup as GradientGroup
from onegrad.networks.plan import SimulateOptions as SimulateOptions
from onegrad.networks.plan import make_plan as make_plan
from onegrad.networks.run import run_plan as run_plan
from onegrad.networks.simulation import Simulation as Simulation
from onegrad.networks.simulation import simulate as simulate
from onegrad.networks.streams import ENTRY_LAWS as ENTRY_LAWS
