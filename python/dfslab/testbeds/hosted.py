"""The base class of testbeds that run on emulated hosts and use their file system's description."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from dfslab.notify import Notify
from dfslab.spec.deployment import Deployment
from dfslab.spec.design import LevelValue
from dfslab.testbeds.base import BaseTestbed
from dfslab.testbeds.cache import program
from dfslab.testbeds.settings import Default, Setting, check_layout, parsed


class HostedTestbed(BaseTestbed[dict[str, LevelValue]]):
    """Validates parameters by the description, and finds programs of Debian packages.

    The derived class implements `start`. PROGRAMS maps required commands to their Debian packages.
    OPTIONS maps options of the testbed that are not parameters of the description to their defaults
    (a tuple: the allowed values, the first of which is the default).
    """

    HOSTED = True
    PROGRAMS: ClassVar[Mapping[str, str]]
    OPTIONS: ClassVar[Mapping[str, Default]] = {}

    def number(self, key: str) -> float:
        """The value in SI units of a numeric parameter."""
        return float(self.parameters[key])

    @classmethod
    def parse(cls, parameters: Mapping[str, Setting]) -> dict[str, LevelValue]:
        """The parameters in SI units. InputError if one of them is wrong."""
        return parsed(cls.SYSTEM, parameters, cls.OPTIONS)

    @classmethod
    def check(cls, parameters: dict[str, LevelValue], deployment: Deployment) -> None:
        """InputError if the description forbids these parameters on the deployment."""
        check_layout(cls.SYSTEM, parameters, deployment)

    @classmethod
    def prepare(cls, parameters: dict[str, LevelValue], notify: Notify) -> None:
        """Check that all programs are installed.

        TestbedError names the package of a missing program.
        """
        for command, package in cls.PROGRAMS.items():
            program(command, package)
