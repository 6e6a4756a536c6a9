"""The base class of testbeds that run on emulated hosts and check their parameters by dfslab's
description of the file system."""

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
    """A testbed on emulated hosts. The class checks the parameters against the file system's
    description, and checks that the required programs are installed.

    The derived class implements `start`. PROGRAMS maps each required command to the Debian package
    that has it. OPTIONS maps each option of the testbed that is not a parameter of the description
    to its default. A tuple as default lists the allowed values; the first of them is the default.
    """

    HOSTED = True
    PROGRAMS: ClassVar[Mapping[str, str]]
    OPTIONS: ClassVar[Mapping[str, Default]] = {}

    def number(self, key: str) -> float:
        """Returns the value of the numeric parameter `key`, in SI units."""
        return float(self.parameters[key])

    @classmethod
    def parse(cls, parameters: Mapping[str, Setting]) -> dict[str, LevelValue]:
        """Returns the parameters in SI units. Raises InputError if one of them is wrong."""
        return parsed(cls.SYSTEM, parameters, cls.OPTIONS)

    @classmethod
    def parse_recorded(cls, parameters: Mapping[str, Setting]) -> dict[str, LevelValue]:
        """Returns the parameters of a running testbed unchanged, because its record has them in SI
        units."""
        return {key: value for key, value in parameters.items() if not isinstance(value, dict)}

    @classmethod
    def port_count(cls, parameters: dict[str, LevelValue]) -> int:
        """Returns 0: the daemons listen inside their hosts, not on ports of this machine."""
        return 0

    @classmethod
    def check(cls, parameters: dict[str, LevelValue], deployment: Deployment) -> None:
        """Raises InputError if the description forbids these parameters on the deployment."""
        check_layout(cls.SYSTEM, parameters, deployment)

    @classmethod
    def prepare(cls, parameters: dict[str, LevelValue], notify: Notify) -> None:
        """Checks that all programs are installed.

        Raises TestbedError with the package of a missing program.
        """
        for command, package in cls.PROGRAMS.items():
            program(command, package)
