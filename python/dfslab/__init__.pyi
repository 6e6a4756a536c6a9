"""The names of `dfslab.api`, for type checkers."""

from dfslab.api import InputError as InputError
from dfslab.api import PredictedScenario as PredictedScenario
from dfslab.api import Result as Result
from dfslab.api import Run as Run
from dfslab.api import RunFailed as RunFailed
from dfslab.api import Scenario as Scenario
from dfslab.api import Transfers as Transfers
from dfslab.api import advise as advise
from dfslab.api import compare as compare
from dfslab.api import design as design
from dfslab.api import explain as explain
from dfslab.api import learn as learn
from dfslab.api import load_run as load_run
from dfslab.api import load_trace as load_trace
from dfslab.api import measure as measure
from dfslab.api import net as net
from dfslab.api import plan as plan
from dfslab.api import predict as predict
from dfslab.api import run as run
from dfslab.api import scenario as scenario
from dfslab.api import whatif as whatif

__version__: str
__all__: list[str]
